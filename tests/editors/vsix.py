"""Run by tests/cmd/editors.c: vsix.py ARCHIVE EXTENSION. Checks the structure of a packed extension."""
import json
import pathlib
import sys
import xml.etree.ElementTree
import zipfile

archive, folder = zipfile.ZipFile(sys.argv[1]), pathlib.Path(sys.argv[2])
assert archive.testzip() is None
names = archive.namelist()
types = xml.etree.ElementTree.fromstring(archive.read("[Content_Types].xml"))
known = {node.get("Extension") for node in types}
assert all(pathlib.Path(name).suffix in known for name in names if name != "[Content_Types].xml"), names
manifest = xml.etree.ElementTree.fromstring(archive.read("extension.vsixmanifest"))
space = {"v": "http://schemas.microsoft.com/developer/vsx-schema/2011"}
package = json.loads(archive.read("extension/package.json"))
identity = manifest.find("v:Metadata/v:Identity", space)
assert [identity.get(key) for key in ("Id", "Version", "Publisher")] == [package[key] for key in ("name", "version", "publisher")]
assert manifest.find("v:Metadata/v:Properties/v:Property", space).get("Value") == package["engines"]["vscode"]
assert all(asset.get("Path") in names for asset in manifest.findall("v:Assets/v:Asset", space))
main = "extension/" + package["main"].removeprefix("./")
text = archive.read(main).decode()
assert all(f"extension/{name}.js" in names for name in ("client",)) and "require('./client')" in text
packed = {name.removeprefix("extension/") for name in names if name.endswith(".js")}
assert packed == {path.name for path in folder.glob("*.js")}, packed
for name in packed:
    assert archive.read("extension/" + name) == (folder / name).read_bytes()
print(f"{len(names)} entries")
