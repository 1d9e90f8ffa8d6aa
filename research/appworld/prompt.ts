import type { AppworldTask, Supervisor } from "./data.ts";
import type { AppworldSettings } from "./settings.ts";

type Documents = readonly {
  readonly app: string;
  readonly apis: readonly { readonly name: string; readonly description: string }[];
}[];

/**
 * The system message, in words of our own. It has what the prompt of SeeUPO's code has, in that order: the role, the three calls that find
 * documents, one worked example as a dialogue, eight instructions, and who the supervisor is. The instruction itself is the user's message.
 */
export function systemPrompt(
  { supervisor }: AppworldTask,
  documents: Documents,
  { apiDocs }: Pick<AppworldSettings, "apiDocs">,
): string {
  return [
    role(supervisor),
    discovery,
    `The apps, as JSON:\n${JSON.stringify(documents.map(({ app }) => app))}`,
    ...(apiDocs === "listed" ? [`Their APIs:\n${listed(documents)}`] : []),
    example(supervisor),
    instructions,
    identity(supervisor),
  ].join("\n\n");
}

const fence = "```";

function code(text: string): string {
  return `${fence}python\n${text}\n${fence}\n`;
}

function output(text: string): string {
  return `Output:\n${fence}\n${text}\n${fence}\n`;
}

function role({ first_name, last_name }: Supervisor): string {
  return (
    `I am your supervisor, ${first_name} ${last_name}, and you are an assistant that does my everyday tasks alone. You do them by writing Python ` +
    "for a REPL, over several steps: you write a piece of code, it is run, you read its output, and you write the next piece. The code reaches " +
    "my apps by the object `apis`."
  );
}

const discovery = [
  "Three calls tell you which apps and APIs there are, and how each is called:",
  code("print(apis.api_docs.show_app_descriptions())"),
  code("print(apis.api_docs.show_api_descriptions(app_name='spotify'))"),
  code("print(apis.api_docs.show_api_doc(app_name='spotify', api_name='login'))"),
].join("\n");

function example({ first_name, email }: Supervisor): string {
  return [
    "An example of such a dialogue, for another task:",
    "",
    "USER:",
    "How many playlists do I have in Spotify?",
    "",
    "ASSISTANT:",
    "I look for the APIs of the app first.",
    code("print(apis.api_docs.show_api_descriptions(app_name='spotify'))"),
    "USER:",
    output("[ … a list of names and descriptions, `login` and `show_playlist_library` among them … ]"),
    "ASSISTANT:",
    "I read how the library of playlists is called.",
    code("print(apis.api_docs.show_api_doc(app_name='spotify', api_name='show_playlist_library'))"),
    "USER:",
    output("{ … `access_token`, `page_index` and `page_limit` among the parameters … }"),
    "ASSISTANT:",
    "It needs an access token, so I look up the password.",
    code("print(apis.supervisor.show_account_passwords())"),
    "USER:",
    output('[{"account_name": "spotify", "password": "example-only"}]'),
    "ASSISTANT:",
    `I log in as ${first_name} and count over all pages.`,
    code(
      [
        "passwords = {account['account_name']: account['password'] for account in apis.supervisor.show_account_passwords()}",
        `token = apis.spotify.login(username='${email}', password=passwords['spotify'])['access_token']`,
        "count, page = 0, 0",
        "while True:",
        "    playlists = apis.spotify.show_playlist_library(access_token=token, page_index=page)",
        "    if not playlists:",
        "        break",
        "    count, page = count + len(playlists), page + 1",
        "print(count)",
      ].join("\n"),
    ),
    "USER:",
    output("7"),
    "ASSISTANT:",
    "The answer is 7.",
    code("apis.supervisor.complete_task(answer=7)"),
  ].join("\n");
}

const instructions = [
  "Instructions:",
  `1. Put code into a fence that begins with ${fence}python, and close it with ${fence} and a new line. Only the first such block of a message is run.`,
  "2. Variables stay from one step to the next.",
  "3. The credentials of the example are not valid: look up the real ones.",
  "4. My own data, such as addresses and cards, is in the supervisor app; my friends, family and colleagues are contacts in the phone app.",
  "5. Read the document of an API before you call it.",
  "6. Write a small piece of code in each step, and print what you need to read.",
  "7. Many APIs answer page by page: walk through all pages.",
  "8. When the task is done call apis.supervisor.complete_task(), with answer=… only if the task asks for one. " +
    "If it cannot be done call it with status='fail'.",
].join("\n");

function identity({ first_name, last_name, email, phone_number }: Supervisor): string {
  return `My name is ${first_name} ${last_name}. My email is ${email} and my phone number is ${phone_number}.`;
}

function listed(documents: Documents): string {
  return documents
    .map(({ app, apis }) => [`${app}:`, ...apis.map(({ name, description }) => `  ${name}: ${description}`)].join("\n"))
    .join("\n");
}
