"""Runs a server of a real package and changes its answers: `python faulty.py FILE SCRIPT ARGUMENTS…`. FILE has a pattern and the text that it becomes, as
JSON, and may change from one answer to the next."""

import json
import re
import runpy
import sys

file, *sys.argv = sys.argv[1:]


def changed(written: str) -> str:
    with open(file) as given:
        return re.sub(*json.load(given), written)


def over_asgi() -> None:
    import uvicorn

    begin = uvicorn.Config.__init__

    def faulty(app):
        async def answer(scope, receive, send):
            async def sent(message):
                # The length is another one.
                if "headers" in message:
                    message["headers"] = [pair for pair in message["headers"] if pair[0].lower() != b"content-length"]
                if message.get("body"):
                    message["body"] = changed(message["body"].decode()).encode()
                if message.get("text"):
                    message["text"] = changed(message["text"])
                await send(message)

            await app(scope, receive, sent)

        return answer

    uvicorn.Config.__init__ = lambda self, app, *rest, **more: begin(self, faulty(app), *rest, **more)


def over_msgpack() -> None:
    import msgpack

    pack = msgpack.packb

    def faulty(value, **settings):
        raw = json.dumps(value, default=settings.get("default"))
        other = changed(raw)
        return pack(value if other == raw else json.loads(other), **settings)

    msgpack.packb = faulty


(over_msgpack if "verifiers" in sys.argv[0] else over_asgi)()
runpy.run_path(sys.argv[0], run_name="__main__")
