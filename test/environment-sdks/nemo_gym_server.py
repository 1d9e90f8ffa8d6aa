"""Resource servers that NeMo Gym publishes: `python nemo_gym_server.py JSON…`, each {"name", "server", "rollouts"}, with their published configurations
and without the head server and Ray. Each runs in a fork and prints {"name", "port"}, or {"name", "why"} if it does not start. {"name", "trouble"} is a host
that it looks for, or an error that it raises. The model that a server asks for its verdict says what it said in the published rollout of the session; where that is nothing, the
server ends: there is no other."""

import importlib
import json
import os
import re
import socket
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import nemo_gym.server_utils as nemo
import resources_servers
import uvicorn
from nemo_gym.base_resources_server import SimpleResourcesServer
from omegaconf import OmegaConf

MODEL = "a model"
VERDICT = re.compile(r"judge(ment)?_(output|response|gen_base|base_gen)")


def words_of(rollout: dict) -> list:
    """What a judge said in a rollout: Responses, or their texts."""
    words: list = []

    def find(key: str, value: object) -> None:
        if isinstance(value, dict) and value.get("object") == "response":
            words.append(value)
        elif isinstance(value, dict):
            for inner, part in value.items():
                find(inner, part)
        elif isinstance(value, list):
            for part in value:
                find("", part)
        elif isinstance(value, str) and VERDICT.fullmatch(key):
            words.append(value)

    find("", {key: value for key, value in rollout.items() if key != "response"})
    return words


class Judge:
    """The model that a server asks: it has the words of one session at a time, in the order of the rollouts."""

    def __init__(self, name: str):
        self.name, self.rollouts, self.words = name, [], None
        judge = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_error(404)

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers.get("content-length", 0)))
                if judge.words is None:  # a server looks whether there is a judge
                    return self.send_error(503)
                body = json.dumps(judge.answer(self.path)).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        http = HTTPServer(("127.0.0.1", 0), Handler)
        self.port = http.server_port
        Thread(target=http.serve_forever, daemon=True).start()

    def beside(self, app):
        """The server, whose sessions begin the next rollout."""

        async def both(scope, receive, send) -> None:
            if scope.get("path") == "/seed_session":
                self.words = words_of(self.rollouts.pop(0)) if self.rollouts else []
            try:
                await app(scope, receive, send)
            except Exception as error:
                said(name=self.name, trouble=f"{type(error).__name__}: {error}")
                raise

        return both

    def answer(self, path: str) -> dict:
        if not self.words:
            said(name=self.name, trouble=MODEL)
            os._exit(1)
        word = self.words.pop(0)
        if isinstance(word, dict):
            return word
        if path.endswith("completions"):
            choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": word}}
            return {"id": "c", "object": "chat.completion", "created": 0, "model": "judge", "choices": [choice]}
        text = {"type": "output_text", "text": word, "annotations": []}
        output = [{"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [text]}]
        tools = {"parallel_tool_calls": False, "tool_choice": "auto", "tools": []}
        return {"id": "r", "object": "response", "created_at": 0, "model": "judge", "output": output, **tools}


def models_of(settings: object) -> list:
    """The names of the models that settings refer to."""
    if not isinstance(settings, dict):
        return []
    own = [settings["name"]] if settings.get("type") == "responses_api_models" else []
    return own + [name for value in settings.values() for name in models_of(value)]


def serve(name: str, server: str, rollouts: str) -> None:
    folder = Path(resources_servers.__path__[0], server)
    # Servers run in their folders, and some import modules that lie there.
    sys.path.insert(0, str(folder))
    os.chdir(folder)
    judge = Judge(name)
    configs = sorted((folder / "configs").glob("*.yaml"), key=lambda file: file.stem != server)
    named = [one for file in configs for one in OmegaConf.load(file).values() if "resources_servers" in (one or {})]
    own = [one.resources_servers[server] for one in named if server in one.resources_servers]
    known = {"policy_base_url": f"http://127.0.0.1:{judge.port}/v1", "policy_api_key": "none", "policy_model_name": "judge"}
    merged = OmegaConf.create({**known, "own": own[0] if own else {"entrypoint": "app.py"}})
    settings = OmegaConf.to_container(merged.own, resolve=True)
    model = {"responses_api_models": {"judge": {"host": "127.0.0.1", "port": judge.port}}}
    everything = {**known, **{one: model for one in models_of(settings)}}
    os.environ["NEMO_GYM_CONFIG_DICT"] = json.dumps(everything)
    module = importlib.import_module(f"resources_servers.{server}.{settings['entrypoint'].removesuffix('.py')}")
    classes = [c for c in vars(module).values() if isinstance(c, type) and issubclass(c, SimpleResourcesServer)]
    server_class = next(c for c in classes if c.__module__ == module.__name__)
    config = server_class.model_fields["config"].annotation(**settings | {"host": "127.0.0.1", "port": 1, "name": name})
    head = nemo.BaseServerConfig(host="127.0.0.1", port=1)
    client = nemo.ServerClient(head_server_config=head, global_config_dict=OmegaConf.create(everything))
    app = server_class(config=config, server_client=client).setup_webserver()
    lines = Path(rollouts).read_text().splitlines()
    judge.rollouts = [json.loads(line) for line in lines if line.startswith("{")]
    listening = socket.create_server(("127.0.0.1", 0))
    said(name=name, port=listening.getsockname()[1])
    uvicorn.Server(uvicorn.Config(judge.beside(app), log_level="error", loop="asyncio")).run(sockets=[listening])


def said(**line: object) -> None:
    os.write(out, f"{json.dumps(line)}\n".encode())


# What servers print is not ours.
out = os.dup(1)
os.dup2(2, 1)
for one in map(json.loads, sys.argv[1:]):
    if os.fork() == 0:
        look = socket.getaddrinfo

        def told(host, *rest, **more):
            said(name=one["name"], trouble=str(host))
            return look(host, *rest, **more)

        socket.getaddrinfo = told
        try:
            serve(**one)
        except BaseException as error:
            said(name=one["name"], why=f"{type(error).__name__}: {error}")
        os._exit(0)
for _ in sys.argv[1:]:
    os.wait()
