"""
Serves a family of tasks of the package `reasoning-gym` over OpenEnv. One task for each seed; the package's own `score_answer` is the reward:

    python research/recipes/reasoning-gym-server.py needle_haystack 8000 '{"min_num_statements": 3, "max_num_statements": 5}'
"""

import json
import sys

import reasoning_gym
import uvicorn
from openenv.core.env_server.http_server import create_fastapi_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, Observation, State

family, port = sys.argv[1], int(sys.argv[2])
config = json.loads(sys.argv[3]) if len(sys.argv) > 3 else {}


class Answer(Action):
    message: str


class Question(Observation):
    text: str


class Task(Environment):
    SUPPORTS_CONCURRENT_SESSIONS = True
    state = State()

    def reset(self, seed=None, **_):
        self.tasks = reasoning_gym.create_dataset(family, size=1, seed=seed, **config)
        return Question(text=self.tasks[0]["question"], done=False, reward=None)

    def step(self, action, **_):
        score = float(self.tasks.score_answer(action.message.strip(), self.tasks[0]))
        return Question(text="", done=True, reward=score)


app = create_fastapi_app(Task, Answer, Question, max_concurrent_envs=256)


@app.get("/answer")
def answer(seed: int):
    """The package's answer to a task, for files that are scored elsewhere."""
    return {"answer": reasoning_gym.create_dataset(family, size=1, seed=seed, **config)[0]["answer"]}


uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning", ws_ping_interval=None)
