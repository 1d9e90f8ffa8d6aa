"""
Tasks of the package `reasoning-gym` as JSON Lines, one for each line's seed:

    python reasoning-gym.py needle_haystack < SEEDS > TASKS.jsonl

A task's guesses are the answers of a player who knows the form alone. `answers` are the texts that the package's scorer takes for right among
them and its own answer.
"""

import itertools
import json
import sys

import reasoning_gym


def openers(entry):
    """The first word of each sentence of the first line."""
    return [sentence.split(" ")[0] for sentence in map(str.strip, entry["question"].split("\n")[0].split(". ")) if sentence]


def orders(entry):
    """The words of the answer in any order."""
    return [", ".join(words) for words in itertools.permutations(entry["answer"].split(", "))]


# Settings easier than the package's own, and whose guesses show the form.
families = {
    "needle_haystack": ({"min_num_statements": 3, "max_num_statements": 5}, openers),
    "word_sequence_reversal": ({"max_words": 3}, orders),
}

config, guess = families[sys.argv[1]]
for line in sys.stdin:
    dataset = reasoning_gym.create_dataset(sys.argv[1], size=1, seed=int(line), **config)
    entry = dataset[0]
    guesses = guess(entry)
    texts = dict.fromkeys([entry["answer"], *guesses])
    answers = [text for text in texts if dataset.score_answer(text, entry) >= 1]
    print(json.dumps({"prompt": entry["question"], "answers": answers, "guesses": guesses}))
