"""The syntax of a C or C++ file by libclang, through ctypes: what oracle.py needs of it."""
import ctypes as c
import glob

class CXString(c.Structure):
    _fields_ = [("data", c.c_void_p), ("flags", c.c_uint)]

class CXCursor(c.Structure):
    _fields_ = [("kind", c.c_int), ("x", c.c_int), ("data", c.c_void_p * 3)]

class CXType(c.Structure):
    _fields_ = [("kind", c.c_int), ("data", c.c_void_p * 2)]

class CXLocation(c.Structure):
    _fields_ = [("p", c.c_void_p * 2), ("i", c.c_uint)]

class CXRange(c.Structure):
    _fields_ = [("p", c.c_void_p * 2), ("b", c.c_uint), ("e", c.c_uint)]

VISIT = c.CFUNCTYPE(c.c_int, CXCursor, CXCursor, c.c_void_p)
STRUCT, UNION, CLASS, ENUM, FIELD, ENUMERATOR, FUNCTION, VAR, PARM = 2, 3, 4, 5, 6, 7, 8, 9, 10
METHOD, NAMESPACE, CONSTRUCTOR, DESTRUCTOR = 21, 22, 24, 25
T_PARAMETER, V_PARAMETER, FUNCTION_TEMPLATE, CLASS_TEMPLATE = 27, 28, 30, 31
CALL = 103
COMPOUND, WHILE, DO, FOR, LAMBDA, RANGE_FOR = 202, 207, 208, 209, 144, 225
LOOPS = (WHILE, DO, FOR, RANGE_FOR)
(BOOL, FLOAT, DOUBLE, LONG_DOUBLE, COMPLEX, POINTER, LREF, RREF, RECORD, ENUM_TYPE) = (
    3, 21, 22, 23, 100, 101, 103, 104, 105, 106)
PROTO, NO_PROTO, CONSTANT_ARRAY, OPEN_ARRAY, VARIABLE_ARRAY, VOID = 111, 110, 112, 114, 115, 2
INTEGERS = range(3, 21)

def library():
    names = sorted(glob.glob("/usr/lib/llvm-19/lib/libclang*.so.1")) or \
        sorted(glob.glob("/usr/lib/llvm-*/lib/libclang.so.1"))
    lib = c.CDLL([n for n in names if "cpp" not in n][-1])
    kinds = {
        "createIndex": (c.c_void_p, [c.c_int, c.c_int]),
        "parseTranslationUnit": (c.c_void_p, [c.c_void_p, c.c_char_p, c.POINTER(c.c_char_p),
                                              c.c_int, c.c_void_p, c.c_uint, c.c_uint]),
        "getTranslationUnitCursor": (CXCursor, [c.c_void_p]),
        "visitChildren": (c.c_uint, [CXCursor, VISIT, c.c_void_p]),
        "getCursorSpelling": (CXString, [CXCursor]),
        "getCString": (c.c_char_p, [CXString]),
        "disposeString": (None, [CXString]),
        "getCursorExtent": (CXRange, [CXCursor]),
        "getCursorLocation": (CXLocation, [CXCursor]),
        "getRangeStart": (CXLocation, [CXRange]),
        "getRangeEnd": (CXLocation, [CXRange]),
        "getFileLocation": (None, [CXLocation, c.c_void_p] + [c.POINTER(c.c_uint)] * 3),
        "Location_isFromMainFile": (c.c_int, [CXLocation]),
        "Location_isInSystemHeader": (c.c_int, [CXLocation]),
        "getCursorType": (CXType, [CXCursor]),
        "getCanonicalType": (CXType, [CXType]),
        "getPointeeType": (CXType, [CXType]),
        "getArrayElementType": (CXType, [CXType]),
        "getArraySize": (c.c_longlong, [CXType]),
        "getResultType": (CXType, [CXType]),
        "getCursorResultType": (CXType, [CXCursor]),
        "getTypeSpelling": (CXString, [CXType]),
        "getTypeDeclaration": (CXCursor, [CXType]),
        "isConstQualifiedType": (c.c_uint, [CXType]),
        "isRestrictQualifiedType": (c.c_uint, [CXType]),
        "Type_getSizeOf": (c.c_longlong, [CXType]),
        "Cursor_isAnonymous": (c.c_uint, [CXCursor]),
        "isCursorDefinition": (c.c_uint, [CXCursor]),
        "Cursor_getStorageClass": (c.c_int, [CXCursor]),
        "CXXMethod_isStatic": (c.c_uint, [CXCursor]),
        "getCursorSemanticParent": (CXCursor, [CXCursor]),
        "Cursor_isBitField": (c.c_uint, [CXCursor]),
        "getCursorDefinition": (CXCursor, [CXCursor]),
        "Cursor_isNull": (c.c_int, [CXCursor]),
        "getNumArgTypes": (c.c_int, [CXType]),
        "getArgType": (CXType, [CXType, c.c_uint]),
    }
    for name, (result, arguments) in kinds.items():
        f = getattr(lib, "clang_" + name)
        f.restype, f.argtypes = result, arguments
    return lib

L = library()

def text(s):
    out = (L.clang_getCString(s) or b"").decode()
    L.clang_disposeString(s)
    return out

class Type:
    def __init__(self, t):
        self.t = t
        self.kind = t.kind

    def canonical(self): return Type(L.clang_getCanonicalType(self.t))
    def pointee(self): return Type(L.clang_getPointeeType(self.t))
    def element(self): return Type(L.clang_getArrayElementType(self.t))
    def count(self): return L.clang_getArraySize(self.t)
    def result(self): return Type(L.clang_getResultType(self.t))
    def name(self): return text(L.clang_getTypeSpelling(self.t))
    def declaration(self): return Cursor(L.clang_getTypeDeclaration(self.t))
    def const(self): return bool(L.clang_isConstQualifiedType(self.t))
    def restrict(self): return bool(L.clang_isRestrictQualifiedType(self.t))
    def arguments(self):
        return [Type(L.clang_getArgType(self.t, i)) for i in range(L.clang_getNumArgTypes(self.t))]
    def size(self): return L.clang_Type_getSizeOf(self.t)

class Cursor:
    def __init__(self, cursor):
        self.c = cursor
        self.kind = cursor.kind

    def children(self):
        out = []
        def visit(cursor, parent, data):
            copy = CXCursor()
            c.memmove(c.byref(copy), c.byref(cursor), c.sizeof(copy))
            out.append(Cursor(copy))
            return 1
        f = VISIT(visit)
        L.clang_visitChildren(self.c, f, None)
        return out

    def walk(self):
        for k in self.children():
            yield k
            yield from k.walk()

    def name(self): return text(L.clang_getCursorSpelling(self.c))
    def type(self): return Type(L.clang_getCursorType(self.c))
    def result(self): return Type(L.clang_getCursorResultType(self.c))
    def here(self): return bool(L.clang_Location_isFromMainFile(L.clang_getCursorLocation(self.c)))
    def of_system(self):
        return bool(L.clang_Location_isInSystemHeader(L.clang_getCursorLocation(self.c)))
    def defined(self): return bool(L.clang_isCursorDefinition(self.c))
    def definition(self): return Cursor(L.clang_getCursorDefinition(self.c))
    def null(self): return bool(L.clang_Cursor_isNull(self.c))
    def static(self): return L.clang_Cursor_getStorageClass(self.c) == 3
    def extern(self): return L.clang_Cursor_getStorageClass(self.c) == 2
    def register(self): return L.clang_Cursor_getStorageClass(self.c) == 7
    def static_method(self): return bool(L.clang_CXXMethod_isStatic(self.c))
    def anonymous(self): return bool(L.clang_Cursor_isAnonymous(self.c))
    def bits(self): return bool(L.clang_Cursor_isBitField(self.c))
    def parent(self): return Cursor(L.clang_getCursorSemanticParent(self.c))

    def extent(self):
        """(offset, end offset, line) in the file; of a macro, where it is used."""
        r = L.clang_getCursorExtent(self.c)
        out = []
        for at in (L.clang_getRangeStart(r), L.clang_getRangeEnd(r)):
            line, column, offset = c.c_uint(), c.c_uint(), c.c_uint()
            L.clang_getFileLocation(at, None, c.byref(line), c.byref(column), c.byref(offset))
            out.append((offset.value, line.value))
        return out[0][0], out[1][0], out[0][1]

def parse(path, flags):
    index = L.clang_createIndex(0, 0)
    array = (c.c_char_p * len(flags))(*[f.encode() for f in flags])
    unit = L.clang_parseTranslationUnit(index, path.encode(), array, len(flags), None, 0, 0)
    if not unit:
        raise RuntimeError(f"{path}: cannot be parsed")
    return Cursor(L.clang_getTranslationUnitCursor(unit))
