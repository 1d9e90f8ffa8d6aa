"""Trains with the official `tinker` SDK against a server, and prints one line of JSON for each check: {"name", "ok", "said"}.
A check that cannot run here has the ok null: the SDK's custom losses need PyTorch, which is not part of the SDK.

    TINKER_BASE_URL=http://127.0.0.1:8765 TINKER_BASE_MODEL=tiny python sdk_checks.py
"""
import importlib.util, json, math, os, time

os.environ.setdefault("TINKER_API_KEY", "tml-local")
os.environ.setdefault("TINKER_TELEMETRY", "0")
import numpy as np
import tinker
from tinker import types

model = os.environ["TINKER_BASE_MODEL"]
vocabulary = int(os.environ.get("TINKER_VOCABULARY", "7"))
has_torch = importlib.util.find_spec("torch") is not None


def check(name, run):
    try:
        value, ok, said = run(), True, ""
        if value is False:
            ok = False
    except BaseException as error:
        value, ok, said = None, False, f"{type(error).__name__}: {error}"[:300]
    print(json.dumps({"name": name, "ok": ok, "said": said}), flush=True)
    return value


def done(value):
    return value.result() if hasattr(value, "result") else value


def datum(ids, **inputs):
    tensors = {name: types.TensorData(data=[float(x) for x in values], dtype="float32", shape=[len(values)]) for name, values in inputs.items()}
    return types.Datum(model_input=types.ModelInput.from_ints(ids[:-1]), loss_fn_inputs={
        "target_tokens": types.TensorData(data=ids[1:], dtype="int64", shape=[len(ids) - 1]), **tensors})


def logprobs(client, ids):
    return np.array(client.forward([datum(ids)], "cross_entropy").result().loss_fn_outputs[0]["logprobs"].data)


def fails(run, *words):
    try:
        done(run())
    except Exception as error:
        missing = [word for word in words if word not in str(error)]
        assert not missing, f"{missing} not in: {error}"
        return True
    raise AssertionError("did not fail")


service = tinker.ServiceClient(base_url=os.environ["TINKER_BASE_URL"])
names = [each.model_name for each in service.get_server_capabilities().supported_models]
check("capabilities name the model", lambda: model in names)
adam = types.AdamParams(learning_rate=0.02, beta1=0.9, beta2=0.95, eps=1e-8)


def train(rank, steps):
    """Supervised training of one sequence: a step is submitted behind its pass, without waiting."""
    client = done(service.create_lora_training_client(base_model=model, rank=rank, seed=1))
    data = [datum([1, 2, 3, 4, 5, 1, 2], weights=[0, 1, 1, 1, 1, 1])]
    losses = []
    for _ in range(steps):
        passed, stepped = client.forward_backward(data, "cross_entropy"), client.optim_step(adam)
        losses.append(passed.result().metrics["loss:sum"])
        assert math.isfinite(stepped.result().metrics["grad_norm"])
    return client, losses


def learns(rank):
    client, losses = train(rank, 30)
    assert losses[-1] < 0.3 * losses[0], losses
    return client


lora = check("supervised training of an adapter", lambda: learns(8))
full = check("supervised training of the model itself (rank 0)", lambda: learns(0))
check("info names rank and base", lambda: lora.get_info().lora_rank == 8 and not full.get_info().is_lora and lora.get_info().model_data.model_name == model)


def losses():
    """Every loss by its definition, from log-probs of a forward: values of the loss, and of the gradient through a small step."""
    client = done(service.create_lora_training_client(base_model=model, rank=4, seed=2))
    ids, advantages = [1, 4, 2, 5, 3], np.array([1.0, -0.5, 0.0, 2.0])
    lp = logprobs(client, ids)
    sampled = lp + np.array([0.05, -0.6, 0.3, 0.7])
    ratio = np.exp(lp - sampled)
    clipped = np.clip(ratio, 0.9, 1.3)
    expected = {
        "importance_sampling": (-(ratio * advantages).sum(), None),
        "cispo": (-(clipped * advantages * lp).sum(), {"clip_low_threshold": 0.9, "clip_high_threshold": 1.3}),
    }
    for name, (value, config) in expected.items():
        request = datum(ids, advantages=advantages, logprobs=sampled)
        given = client.forward_backward([request], name, config).result().metrics["loss:sum"]
        assert abs(given - value) < 1e-3 * max(1, abs(value)), (name, given, value)
    return True


check("every loss of the server has its value", losses)
check("an unknown loss is refused by name", lambda: fails(lambda: full.forward_backward([datum([1, 2])], "stable_reinforce"), "stable_reinforce", "cross_entropy"))
check("training goes on after a refusal", lambda: math.isfinite(full.forward_backward([datum([1, 2, 3])], "cross_entropy").result().metrics["loss:sum"]))


def custom():
    """forward_backward_custom: the loss −Σ a·log p with signed a moves Σ a·log p up by its gradient's square."""
    import torch
    client = done(service.create_lora_training_client(base_model=model, rank=4, seed=2))
    ids, a = [1, 4, 2, 5, 3], torch.tensor([1.0, -0.5, 0.25, 2.0])
    gains = []
    for scale in (1.0, 2.0, -1.0):
        before = logprobs(client, ids)
        future = client.forward_backward_custom([datum(ids)], lambda data, lps: (-(scale * a * lps[0]).sum(), {"mine": 1.0}))
        client.optim_step(types.AdamParams(learning_rate=10.0, beta1=0.0, beta2=0.0, eps=1e6)).result()
        assert future.result().metrics["mine"] == 1.0
        gains.append(float((a.numpy() * (logprobs(client, ids) - before)).sum()))
    assert gains[0] > 0 and abs(gains[1] / gains[0] - 2) < 0.05 and abs(gains[2] / gains[0] + 1) < 0.05, gains
    return True


if has_torch:
    check("a custom loss is exact, signed weights included", custom)
else:
    print(json.dumps({"name": "a custom loss is exact, signed weights included", "ok": None, "said": "no torch"}), flush=True)


def adam_settings():
    """Each setting of the optimiser makes a difference."""
    def after(**settings):
        client = done(service.create_lora_training_client(base_model=model, rank=4, seed=2))
        for _ in range(2):
            client.forward_backward([datum([1, 2, 3])], "cross_entropy")
            client.optim_step(types.AdamParams(**{**dict(learning_rate=0.05, beta1=0.9, beta2=0.95, eps=1e-8), **settings}))
        values = logprobs(client, [1, 2, 3])
        return values
    plain = after()
    for setting in ({"learning_rate": 0.01}, {"beta1": 0.5}, {"beta2": 0.5}, {"eps": 0.1}, {"weight_decay": 5.0}, {"grad_clip_norm": 1e-9}):
        assert np.abs(after(**setting) - plain).max() > 1e-6, setting
    return True


check("all of Adam's settings are honoured", adam_settings)
prompt, params = types.ModelInput.from_ints([1, 2, 3]), types.SamplingParams(max_tokens=6, seed=7, temperature=1.0, stop=[])
sampler = check("a sampling client of the trained weights", lambda: done(lora.save_weights_and_get_sampling_client()))


def sampling():
    one = sampler.sample(prompt, num_samples=2, sampling_params=params, include_prompt_logprobs=True, topk_prompt_logprobs=2, topk_sample_logprobs=2).result()
    assert len(one.sequences) == 2 and all(len(s.tokens) == 6 for s in one.sequences)
    ids = [1, 2, 3] + list(one.sequences[0].tokens)
    trained = logprobs(lora, ids)
    assert np.abs(np.array(one.sequences[0].logprobs) - trained[2:]).max() < 1e-3
    assert one.prompt_logprobs[0] is None and np.abs(np.array(one.prompt_logprobs[1:]) - trained[:2]).max() < 1e-3
    assert one.topk_prompt_logprobs[0] is None and len(one.topk_prompt_logprobs[1]) == 2
    for token, top in zip(one.sequences[0].tokens, one.sequences[0].topk_logprobs):
        assert len(top) == 2 and top[0][1] >= top[1][1]
    again = sampler.sample(prompt, num_samples=1, sampling_params=params).result()
    assert list(again.sequences[0].tokens) == list(one.sequences[0].tokens)
    greedy = sampler.sample(prompt, num_samples=1, sampling_params=types.SamplingParams(max_tokens=2, temperature=0.0, stop=[])).result()
    assert list(greedy.sequences[0].tokens) == [4, 5], greedy.sequences[0].tokens
    stopped = sampler.sample(prompt, num_samples=1, sampling_params=types.SamplingParams(max_tokens=6, temperature=0.0, stop=[5])).result()
    assert list(stopped.sequences[0].tokens) == [4, 5] and stopped.sequences[0].stop_reason == "stop"
    return True


check("samples, log-probs of samples and prompts, top candidates, stop tokens", sampling)
state = check("a saved state", lambda: lora.save_state("state").result().path)
copy = check("a client from that state, with its optimiser", lambda: done(service.create_training_client_from_state_with_optimizer(state)))
check("its log-probs are the saved ones", lambda: np.abs(logprobs(copy, [1, 2, 3]) - logprobs(lora, [1, 2, 3])).max() < 1e-5)
check("a client from that state, without", lambda: np.abs(logprobs(done(service.create_training_client_from_state(state)), [1, 2, 3]) - logprobs(lora, [1, 2, 3])).max() < 1e-5)


def abandoned():
    """A sample that nobody waits for is cancelled: the next one does not wait for its tokens."""
    future = sampler.sample(prompt, num_samples=64, sampling_params=types.SamplingParams(max_tokens=400, seed=1, stop=[]))
    time.sleep(0.2)
    future.future().cancel()
    assert len(sampler.sample(prompt, num_samples=1, sampling_params=types.SamplingParams(max_tokens=1, seed=1, stop=[])).result().sequences) == 1
    return True


check("a sample is cancelled, and the next is drawn", abandoned)


def grpo():
    """GRPO with the SDK alone: the share of token 4 among the sampled ones is the reward."""
    client = done(service.create_lora_training_client(base_model=model, rank=8, seed=3))
    rewards = []
    for step in range(12):
        actor = done(client.save_weights_and_get_sampling_client())
        sampled = actor.sample(prompt, num_samples=16, sampling_params=types.SamplingParams(max_tokens=4, seed=step * 100, stop=[])).result()
        reward = np.array([list(s.tokens).count(4) / len(s.tokens) for s in sampled.sequences])
        rewards.append(reward.mean())
        advantage = (reward - reward.mean()) / (reward.std() + 1e-6)
        data = [datum([1, 2, 3] + list(s.tokens), logprobs=[0, 0] + list(s.logprobs), advantages=[0, 0] + [a] * len(s.tokens))
                for s, a in zip(sampled.sequences, advantage)]
        passed, stepped = client.forward_backward(data, "importance_sampling"), client.optim_step(adam)
        passed.result(), stepped.result()
    assert np.mean(rewards[-3:]) > np.mean(rewards[:3]) + 0.3, rewards
    return True


check("GRPO raises the reward", grpo)
