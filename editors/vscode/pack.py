#!/usr/bin/env python3
"""Pack the VS Code extension: pack.py OUT.vsix

The archive depends on the files alone: equal files give equal bytes.
"""
import json
import pathlib
import sys
import zipfile
from xml.sax.saxutils import quoteattr, escape

HERE = pathlib.Path(__file__).resolve().parent
FILES = ["package.json", "extension.js", "client.js", "README.md"]
TYPES = """<?xml version="1.0" encoding="utf-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
<Default Extension=".json" ContentType="application/json"/>
<Default Extension=".js" ContentType="application/javascript"/>
<Default Extension=".md" ContentType="text/markdown"/>
<Default Extension=".vsixmanifest" ContentType="text/xml"/>
</Types>
"""
MANIFEST = """<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
<Metadata>
<Identity Language="en-US" Id={name} Version={version} Publisher={publisher}/>
<DisplayName>{display}</DisplayName>
<Description xml:space="preserve">{description}</Description>
<Categories>{categories}</Categories>
<Properties><Property Id="Microsoft.VisualStudio.Code.Engine" Value={engine}/></Properties>
</Metadata>
<Installation><InstallationTarget Id="Microsoft.VisualStudio.Code"/></Installation>
<Dependencies/>
<Assets>
<Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json" Addressable="true"/>
<Asset Type="Microsoft.VisualStudio.Services.Content.Details" Path="extension/README.md" Addressable="true"/>
</Assets>
</PackageManifest>
"""


def manifest():
    p = json.loads((HERE / "package.json").read_text())
    return MANIFEST.format(
        name=quoteattr(p["name"]), version=quoteattr(p["version"]), publisher=quoteattr(p["publisher"]),
        display=escape(p["displayName"]), description=escape(p["description"]),
        categories=escape(",".join(p["categories"])), engine=quoteattr(p["engines"]["vscode"]))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    entries = [("[Content_Types].xml", TYPES.encode()), ("extension.vsixmanifest", manifest().encode())]
    entries += [(f"extension/{name}", (HERE / name).read_bytes()) for name in FILES]
    with zipfile.ZipFile(sys.argv[1], "w", zipfile.ZIP_DEFLATED) as out:
        for name, data in entries:
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = 0o644 << 16
            out.writestr(info, data)


if __name__ == "__main__":
    main()
