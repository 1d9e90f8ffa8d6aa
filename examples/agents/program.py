import json, os, sys, urllib.request

task = json.loads(sys.stdin.readline())
body = {"model": "gpt-5-mini", "messages": [{"role": "user", "content": task["prompt"] + " Answer as JSON."}]}
headers = {"authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "content-type": "application/json"}
url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)) as response:
    print(json.load(response)["choices"][0]["message"]["content"])
