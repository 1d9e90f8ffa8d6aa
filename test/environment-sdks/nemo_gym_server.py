"""A resource server that NeMo Gym publishes: `python nemo_gym_server.py NAME PORT`. Its app, without the head server and Ray."""

import importlib
import importlib.util
import sys
from unittest.mock import MagicMock

import uvicorn
from nemo_gym.base_resources_server import SimpleResourcesServer
from nemo_gym.server_utils import ServerClient

name, port = sys.argv[1], int(sys.argv[2])
# Some servers import modules that lie beside them.
sys.path.insert(0, importlib.util.find_spec(f"resources_servers.{name}").submodule_search_locations[0])
module = importlib.import_module(f"resources_servers.{name}.app")
classes = [c for c in vars(module).values() if isinstance(c, type) and issubclass(c, SimpleResourcesServer)]
server_class = next(c for c in classes if c.__module__ == module.__name__)
config_class = server_class.model_fields["config"].annotation
config = config_class(host="127.0.0.1", port=port, entrypoint="", name=name)
server = server_class(config=config, server_client=MagicMock(spec=ServerClient))
uvicorn.run(server.setup_webserver(), host="127.0.0.1", port=port, log_level="warning")
