"""Resource servers that NeMo Gym publishes: `python nemo_gym_server.py NAME…`, with their published configurations and without the head server and
Ray. Each runs in a fork and prints {"name", "port"}, or {"name", "why"} if it does not start. One that asks a model for its verdict ends: there is none."""

import importlib
import json
import os
import socket
import sys
from pathlib import Path
from unittest.mock import MagicMock

import resources_servers
import uvicorn
import yaml
from nemo_gym.base_resources_server import SimpleResourcesServer
from nemo_gym.server_utils import ServerClient


def serve(name: str) -> None:
    folder = Path(resources_servers.__path__[0], name)
    # Servers run in their folders, and some import modules that lie there.
    sys.path.insert(0, str(folder))
    os.chdir(folder)
    configs = sorted((folder / "configs").glob("*.yaml"), key=lambda file: file.stem != name)
    named = [one for file in configs for one in yaml.safe_load(file.read_text()).values() if isinstance(one, dict)]
    servers = [one["resources_servers"][name] for one in named if name in one.get("resources_servers", {})]
    settings = servers[0] if servers else {"entrypoint": "app.py"}
    module = importlib.import_module(f"resources_servers.{name}.{settings['entrypoint'].removesuffix('.py')}")
    classes = [c for c in vars(module).values() if isinstance(c, type) and issubclass(c, SimpleResourcesServer)]
    server_class = next(c for c in classes if c.__module__ == module.__name__)
    config = server_class.model_fields["config"].annotation(**settings | {"host": "127.0.0.1", "port": 1, "name": name})
    client = MagicMock(spec=ServerClient)
    client.post.side_effect = client.get.side_effect = lambda *_, **__: os._exit(1)
    app = server_class(config=config, server_client=client).setup_webserver()
    listening = socket.create_server(("127.0.0.1", 0))
    said(name=name, port=listening.getsockname()[1])
    uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[listening])


def said(**line: object) -> None:
    os.write(out, f"{json.dumps(line)}\n".encode())


# What servers print is not ours.
out = os.dup(1)
os.dup2(2, 1)
for name in sys.argv[1:]:
    if os.fork() == 0:
        try:
            serve(name)
        except BaseException as error:
            said(name=name, why=f"{type(error).__name__}: {error}")
        os._exit(0)
for _ in sys.argv[1:]:
    os.wait()
