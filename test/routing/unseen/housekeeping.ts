import { assistant, guardedAsk as G, type Request, system, used, user } from "./build.ts";

const own = { is: "housekeeping" } as const;
const talk = `USER: ${G}\nASSISTANT: Done, all of them are revoked.`;

/** Calls that programs make for themselves, in wordings that no rule was written for; and asks that look like them. */
export const housekeeping: readonly Request[] = [
  {
    from: "title, n8n",
    ...own,
    messages: [
      user(G),
      assistant("Done."),
      user(
        "Generate a concise, descriptive title for this conversation based on the user's message.\n\nRequirements:\n- 3 to 5 words\n- Use normal sentence case (not title case)\n- No quotation marks\n- Only output the title, nothing else",
      ),
    ],
  },
  {
    from: "title, identity and instructions",
    ...own,
    messages: [
      system(
        "# Identity\n\nYou are a title-generation assistant that creates concise, informative titles reflecting the main topic of a single-turn dialogue.\n\n# Instructions\n\n- Accept an input where the user's statement is wrapped in <user></user> tags.",
      ),
      user(`<user>${G}</user>\n<assistant>ok</assistant>`),
    ],
  },
  {
    from: "title, find one",
    ...own,
    messages: [
      user(
        `Find a concise title for a conversation between a user and an assistant. Don't output anything except the title. Make it shorter than 7 words.\n${talk}`,
      ),
    ],
  },
  {
    from: "title, intent",
    ...own,
    messages: [
      system(
        "You are a specialist in summarizing user intent.\n\n**Task**: Generate a **concise, descriptive title** (max 50 chars) summarizing the user's task/request.\n\n**Rules**:\n1. Sentence case.",
      ),
      user(G),
    ],
  },
  {
    from: "title, what to call the tab",
    ...own,
    messages: [
      system("Pick a label for a browser tab from what the user writes. At most 20 characters. No punctuation."),
      user(G),
    ],
  },
  {
    from: "title, an emoji",
    ...own,
    messages: [system("Choose one emoji that fits the conversation best. Reply with the emoji only."), user(talk)],
  },
  {
    from: "title, JSON",
    ...own,
    messages: [
      system('Return JSON of the form {"title": string} with a title of 3-6 words for the session below.'),
      user(talk),
    ],
  },
  {
    from: "title, Chinese",
    ...own,
    messages: [user(`请用不超过十个字概括下面这段对话的主题，只输出标题，不要标点。\n\n${talk}`)],
  },
  {
    from: "title, Japanese",
    ...own,
    messages: [system("会話の短いタイトルを日本語で作成してください。タイトルのみを出力してください。"), user(G)],
  },
  {
    from: "title, German",
    ...own,
    messages: [
      user(
        `Fasse das Thema der folgenden Unterhaltung in höchstens fünf Wörtern zusammen. Gib nur den Titel aus.\n\n${talk}`,
      ),
    ],
  },
  {
    from: "title, Spanish",
    ...own,
    messages: [
      user(
        `Escribe un título breve (máximo 5 palabras) para esta conversación. Responde solo con el título.\n\n${talk}`,
      ),
    ],
  },
  {
    from: "branch name",
    ...own,
    messages: [
      system(
        "Suggest a git branch name for the task the user describes: lowercase, words joined by hyphens, at most 40 characters. Respond with the name only.",
      ),
      user(G),
    ],
  },
  {
    from: "file name",
    ...own,
    messages: [
      user(`Propose a filename in kebab-case for a note with the following text. Output only the filename.\n\n${G}`),
    ],
  },
  {
    from: "commit message, conventional",
    ...own,
    messages: [
      system(
        "Act as an expert developer who writes clear commit messages following the Conventional Commits standard.",
      ),
      user("diff --git a/auth.ts b/auth.ts\n-  keep(token)\n+  revoke(token)"),
    ],
  },
  {
    from: "commit message, the diff last",
    ...own,
    messages: [
      user(
        "Write the message for a commit with these staged changes. Imperative mood, first line under 72 characters, nothing else.\n\ndiff --git a/auth.ts b/auth.ts\n-  keep(token)\n+  revoke(token)",
      ),
    ],
  },
  {
    from: "pull request text",
    ...own,
    messages: [
      system(
        "You write descriptions of pull requests. Given the commits and the diff, produce a title and a short body in Markdown. Do not invent changes.",
      ),
      user(`Commits:\n- revoke tokens\n\nDiff:\n-  keep(token)\n+  revoke(token)`),
    ],
  },
  {
    from: "release notes line",
    ...own,
    messages: [
      system("Turn the commit below into one changelog entry. One sentence, past tense, no markdown."),
      user("auth: revoke refresh tokens issued before May in production"),
    ],
  },
  {
    from: "summary, a page for the preview",
    ...own,
    messages: [
      system(
        "Summarize the text that the user sends in at most two sentences for a link preview. Return the summary only.",
      ),
      user(`${G} ${G}`),
    ],
  },
  {
    from: "summary, rolling",
    ...own,
    messages: [
      user(
        `Progressively summarize the lines of conversation provided, adding onto the previous summary returning a new summary.\n\nCurrent summary:\nThe human wants tokens revoked.\n\nNew lines of conversation:\nHuman: ${G}\nAI: Done.\n\nNew summary:`,
      ),
    ],
  },
  {
    from: "summary, ghost and operator",
    ...own,
    messages: [
      system(
        "You are summarizing a conversation between an operator and a ghost (AI agent).\nProduce a concise summary (200-400 words) that preserves key decisions and the current task state.\nOutput ONLY the summary, no preamble or headers.",
      ),
      user(talk),
    ],
  },
  {
    from: "memory, facts about the user",
    ...own,
    messages: [
      system(
        "You are a Personal Information Organizer, specialized in accurately storing facts, user memories, and preferences. Extract relevant pieces of information from the conversation and return them as JSON with the key facts.",
      ),
      user(`Input:\n${talk}`),
    ],
  },
  {
    from: "memory, entities",
    ...own,
    messages: [
      user(
        `You are an AI assistant reading the transcript of a conversation between an AI and a human. Extract all of the proper nouns from the last line of conversation. Return the output as a single comma-separated list, or NONE.\n\n${talk}\nOutput:`,
      ),
    ],
  },
  {
    from: "rewrite, a standalone question",
    ...own,
    messages: [
      user(
        `Given the following conversation and a follow up question, rephrase the follow up question to be a standalone question.\n\nChat History:\n${talk}\nFollow Up Input: and the sessions?\nStandalone question:`,
      ),
    ],
  },
  {
    from: "rewrite, search queries",
    ...own,
    messages: [
      system(
        "You generate search queries. Given the user's question, write up to three queries for a vector store, one a line, and nothing else.",
      ),
      user(G),
    ],
  },
  {
    from: "follow-ups",
    ...own,
    messages: [
      user(
        `Rules you must follow:\n- You only respond in JSON format\n- Read the following conversation between AI and Human and generate at most 3 follow-up messages or questions the Human can ask\n- Your response MUST be a valid JSON array of strings\nThe conversation is:\nHuman: ${G}\nAI: Done.`,
      ),
    ],
  },
  {
    from: "labels, intent",
    ...own,
    messages: [
      system(
        "Classify the user's message into exactly one of these intents: billing, account, bug, other. Answer with the intent only.",
      ),
      user(G),
    ],
  },
  {
    from: "labels, sentiment",
    ...own,
    messages: [user(`Is the sentiment of this message positive, negative or neutral? Answer with one word.\n\n"${G}"`)],
  },
  {
    from: "labels, relevance of a passage",
    ...own,
    messages: [
      system(
        "You are a grader assessing relevance of a retrieved document to a user question. Give a binary score 'yes' or 'no' to indicate whether the document is relevant to the question.",
      ),
      user(`Retrieved document:\n\n${G}\n\nUser question: which tokens?`),
    ],
  },
  {
    from: "labels, safety",
    ...own,
    messages: [
      system(
        "Decide whether the message below is safe. Reply with 'safe' or 'unsafe' and, if unsafe, the category on a second line.",
      ),
      user(G),
    ],
  },
  {
    from: "labels, language",
    ...own,
    messages: [system("Detect the language of the text. Return the ISO 639-1 code only."), user(G)],
  },
  {
    from: "command check",
    ...own,
    messages: [
      system(
        "You decide whether a shell command may run without asking the user. Respond with ALLOW or ASK, nothing else.",
      ),
      user("psql production -c 'drop table refresh_tokens'"),
    ],
  },
  {
    from: "translation of an interface text",
    ...own,
    messages: [
      system("You are a translation engine. Translate the text into French. Output only the translation."),
      user(G),
    ],
  },
  {
    from: "completion in an editor",
    ...own,
    messages: [
      system("You are a code completion engine. Complete the code at <CURSOR>. Return only the text to insert."),
      user("export function revoke(token) {\n  <CURSOR>\n}"),
    ],
  },
  // Asks of users that look like housekeeping.
  {
    from: "not: a user wants a title for an article",
    is: "ask",
    guarded: false,
    messages: [
      system("You are a helpful assistant."),
      user(
        "I wrote an article on bees in cities for our school paper. Give me five ideas for a title and say which one you like best and why.",
      ),
    ],
  },
  {
    from: "not: a user wants titles generated in code",
    is: "ask",
    guarded: false,
    messages: [
      user(
        "Write a function that generates a title for each conversation from its first message, at most 40 characters, and test it.",
      ),
    ],
  },
  {
    from: "not: an agent is asked to commit",
    is: "ask",
    guarded: false,
    messages: [
      system("You are a coding agent."),
      user("Commit the staged changes with a good message and push the branch"),
    ],
    tools: ["bash"],
  },
  {
    from: "not: a summary in the middle of a run with tools",
    is: "ask",
    guarded: false,
    messages: [
      system("You are a coding agent."),
      ...[user("List the modules")],
      ...used("bash", { command: "ls" }, "a\nb"),
      assistant("a and b"),
      user("Summarize what module b does in two sentences"),
    ],
    tools: ["bash"],
  },
];
