"""
Tasks of the package `reasoning-gym` as JSON Lines, one for each line's seed:

    python reasoning-gym.py needle_haystack < SEEDS > TASKS.jsonl

A task's guesses are the answers of a player who knows the form alone. `answers` are the texts that the package's scorer takes for right among
them and its own answer.
"""

import json
import random
import sys

import reasoning_gym


def openers(entry):
    """The first word of each sentence of the first line."""
    return [sentence.split(" ")[0] for sentence in map(str.strip, entry["question"].split("\n")[0].split(". ")) if sentence]


def orders(entry):
    """The words of the answer in the orders that 16 draws give."""
    words, found = entry["answer"].split(", "), set()
    for _ in range(16):
        draws.shuffle(words)
        found.add(", ".join(words))
    return sorted(found)


# Settings easier than the package's own, and whose guesses show the form.
families = {
    "needle_haystack": ({"min_num_statements": 3, "max_num_statements": 5}, openers),
    "word_sequence_reversal": ({"max_words": 3}, orders),
}

config, guess = families[sys.argv[1]]
seeds = [int(line) for line in sys.stdin]
# The published runs drew these numbers before, for players whose guesses are not shown.
draws = random.Random(0)
for _ in seeds:
    draws.sample(range(64), 16)
for seed in seeds:
    dataset = reasoning_gym.create_dataset(sys.argv[1], size=1, seed=seed, **config)
    entry = dataset[0]
    guesses = guess(entry)
    texts = dict.fromkeys([entry["answer"], *guesses])
    answers = [text for text in texts if dataset.score_answer(text, entry) >= 1]
    print(json.dumps({"prompt": entry["question"], "answers": answers, "guesses": guesses}))
