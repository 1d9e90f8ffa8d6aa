"""
Writes walks over TextArena's FrozenLake as conversations (research/notes/search-and-compute.md), none of them over a map of the file, which has the
first messages of the test tasks.

    python research/recipes/lake-walks.py 20000 tested.json walks.jsonl

A walk takes a shortest way from where it stands. Three moves of ten are at random instead, so that it comes to all cells: those are shown, and
imitated only where they are right.
"""

import json
import random
import sys
from collections import deque

import textarena

SIZE, HOLES, SLIP, FIRST_SEED = 5, 5, 0.3, 1_000_000
MOVES = {"right": (0, 1), "down": (1, 0), "left": (0, -1), "up": (-1, 0)}


def shortest(grid, start):
    """The first move of a shortest way to the goal; of several, the first in the order of MOVES."""
    open_, seen = deque([(start, None)]), {start}
    while open_:
        (row, column), first = open_.popleft()
        if grid[row][column] == "G":
            return first
        for move in MOVES:
            cell = (row + MOVES[move][0], column + MOVES[move][1])
            if cell in seen or not all(0 <= at < SIZE for at in cell) or grid[cell[0]][cell[1]] == "H":
                continue
            seen.add(cell)
            open_.append((cell, first or move))


def walk(seed):
    lake = textarena.make("FrozenLake-v0-raw", size=SIZE, num_holes=HOLES)
    lake.reset(num_players=1, seed=seed)
    messages, done = [], False
    while True:
        _, news = lake.get_observation()
        text = "\n".join(message for sender, message, _ in news if sender == textarena.GAME_ID)
        if done or len(messages) >= 24:
            return messages
        messages.append({"role": "user", "content": text})
        state = lake.state.game_state
        best = shortest(state["grid"], tuple(state["player_pos"]))
        move = random.choice(list(MOVES)) if random.random() < SLIP else best
        messages.append({"role": "assistant", "content": f"[{move}]", "train": move == best})
        done, _ = lake.step(f"[{move}]")


count, tested, out = int(sys.argv[1]), set(json.load(open(sys.argv[2]))), sys.argv[3]
with open(out, "w") as file:
    for i in range(count):
        messages = walk(FIRST_SEED + i)
        if messages[0]["content"] not in tested and any(message.get("train") for message in messages):
            file.write(json.dumps({"messages": messages}) + "\n")
