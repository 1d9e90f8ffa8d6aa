"""
Writes walks over TextArena's FrozenLake or Sokoban as conversations (research/notes/search-and-compute.md, sokoban.md), none of which
comes by a board of the file, which has the first messages of the test tasks.

    python research/recipes/grid-walks.py FrozenLake-v0-raw '{"size": 5, "num_holes": 5}' 20000 tested.json walks.jsonl

A walk takes a shortest way from where it stands. Three moves of ten are at random instead, so that it comes to all cells: those are shown, and
imitated only where they are right.
"""

import json
import random
import sys
from collections import deque

import textarena

SLIP, FIRST_SEED, LONGEST = 0.3, 1_000_000, 12
MOVES = {"right": (0, 1), "down": (1, 0), "left": (0, -1), "up": (-1, 0)}


def lake_of(game):
    """Cells that can be walked on, the player, no box, and the goal."""
    state = game.state.game_state
    cells = {(i, j): cell for i, row in enumerate(state["grid"]) for j, cell in enumerate(row)}
    goal = next(at for at, cell in cells.items() if cell == "G")
    return {at for at, cell in cells.items() if cell != "H"}, tuple(state["player_pos"]), None, goal


def sokoban_of(game):
    """The same of a room with one box: 0 is a wall, 2 the goal, 3 and 4 a box on it and beside it."""
    fixed = {(i, j): cell for i, row in enumerate(game.room_fixed.tolist()) for j, cell in enumerate(row)}
    box = next((i, j) for i, row in enumerate(game.room_state.tolist()) for j, cell in enumerate(row) if cell in (3, 4))
    goal = next(at for at, cell in fixed.items() if cell == 2)
    return {at for at, cell in fixed.items() if cell != 0}, tuple(game.player_position.tolist()), box, goal


def shortest(open_cells, player, box, goal):
    """The first move of a shortest way to the goal, of the player or of the box; of several, the first in the order of MOVES. None if there is none."""
    ways, seen = deque([(player, box, None)]), {(player, box)}
    while ways:
        player, box, first = ways.popleft()
        if goal == (player if box is None else box):
            return first
        for move, (down, right) in MOVES.items():
            cell, pushed = (player[0] + down, player[1] + right), box
            if cell == box:
                pushed = (cell[0] + down, cell[1] + right)
            if cell not in open_cells or (box is not None and pushed not in open_cells) or (cell, pushed) in seen:
                continue
            seen.add((cell, pushed))
            ways.append((cell, pushed, first or move))
    return None


def walk(name, settings, seed):
    game = textarena.make(name, **settings)
    game.reset(num_players=1, seed=seed)  # which seeds Python's global generator, too
    board_of = sokoban_of if name.startswith("Sokoban") else lake_of
    messages, done = [], False
    while True:
        _, news = game.get_observation()
        text = "\n".join(message for sender, message, _ in news if sender == textarena.GAME_ID)
        best = None if done else shortest(*board_of(game))
        if best is None or len(messages) >= 2 * LONGEST:
            return messages
        messages.append({"role": "user", "content": text})
        move = random.choice(list(MOVES)) if random.random() < SLIP else best
        messages.append({"role": "assistant", "content": f"[{move}]", "train": move == best})
        done, _ = game.step(f"[{move}]")


def drawing(text):
    return text.partition("Current Board:")[2].partition("Available")[0]


name, settings, count, tested, out = sys.argv[1:]
settings, tested = json.loads(settings), {drawing(text) for text in json.load(open(tested))}
with open(out, "w") as file:
    for i in range(int(count)):
        messages = walk(name, settings, FIRST_SEED + i)
        seen = {drawing(message["content"]) for message in messages if message["role"] == "user"} - {""}
        if not seen & tested and any(message.get("train") for message in messages):
            file.write(json.dumps({"messages": messages}) + "\n")
