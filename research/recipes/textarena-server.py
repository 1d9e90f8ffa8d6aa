"""
Serves a game of the package `textarena` over OpenEnv (research/notes/textarena.md), with two players where it is said. Its observation then
names the player that acts next, and the reward is the first player's: the second's is its opposite.

    python research/recipes/textarena-server.py GuessTheNumber-v0-raw 8000
    python research/recipes/textarena-server.py Nim-v0-raw 8000 '{"players": 2}'
    python research/recipes/textarena-server.py FrozenLake-v0-raw 8000 '{"size": 3, "num_holes": 2}'

The variants `-raw` answer with what is new, and leave the history to the conversation.
"""

import json
import sys
from threading import Lock

import textarena
import uvicorn
from openenv.core.env_server.http_server import create_fastapi_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, Observation, State

name, port = sys.argv[1], int(sys.argv[2])
settings = json.loads(sys.argv[3]) if len(sys.argv) > 3 else {}
players = settings.pop("players", 1)
drawing = Lock()  # games draw from Python's global generator, and each session has a thread


class Move(Action):
    message: str


class Screen(Observation):
    text: str
    player: int | None = None


class Game(Environment):
    SUPPORTS_CONCURRENT_SESSIONS = True
    state = State()

    def reset(self, seed=None, **_):
        self.game = textarena.make(name, **settings)
        with drawing:
            self.game.reset(num_players=players, seed=seed)
        return self.screen(False)

    def step(self, action, **_):
        done, _ = self.game.step(action.message)
        return self.screen(done)

    def screen(self, done):
        player, news = self.game.get_observation()
        text = "\n".join(message for sender, message, _ in news if sender == textarena.GAME_ID)
        player = None if players == 1 else player
        return Screen(text=text, player=player, done=done, reward=self.game.close()[0][0] if done else None)


app = create_fastapi_app(Game, Move, Screen, max_concurrent_envs=256)
uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning")
