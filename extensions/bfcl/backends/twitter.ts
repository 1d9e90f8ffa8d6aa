import { callMethod } from "../../python/methods.ts";
import { add, toInt } from "../../python/numbers.ts";
import { contains, equal, getItem, iterate, length, setItem, truth } from "../../python/operators.ts";
import { Dict, type Value } from "../../python/values.ts";
import { configured, defineBackend, error, f, itemsOf, unset } from "./backend.ts";
import type { Shared } from "./shared.ts";

interface TwitterState {
  username: Value;
  password: Value;
  authenticated: Value;
  tweets: Dict;
  comments: Value;
  retweets: Value;
  following_list: Value;
  tweet_counter: Value;
  _shared: Shared;
}

function refusal(doing: string): Dict {
  return error(`User not authenticated. Please authenticate before ${doing}.`);
}

function noTweet(id: Value): Dict {
  return error(f`Tweet with ID ${id} not found.`);
}

/** The list that a dict has under a key, empty if there was none. */
function listAt(dict: Value, key: Value): Value {
  if (!contains(dict, key)) setItem(dict, key, []);
  return getItem(dict, key);
}

export const twitterBackend = defineBackend<TwitterState>(
  "TwitterAPI",
  (config, _longContext, shared) => {
    const tweets = configured(config, "tweets", new Dict());
    return {
      username: configured(config, "username", "john"),
      password: configured(config, "password", "john123"),
      authenticated: configured(config, "authenticated", false),
      tweets: Dict.from(itemsOf(tweets).map(([key, tweet]) => [toInt(key), tweet])),
      comments: configured(config, "comments", new Dict()),
      retweets: configured(config, "retweets", new Dict()),
      following_list: configured(config, "following_list", ["alice", "bob"]),
      tweet_counter: configured(config, "tweet_counter", 0n),
      _shared: shared,
    };
  },
  {
    "authenticate_twitter(username, password)": (state, username, password) => {
      if (!equal(username, state.username) || !equal(password, state.password)) return Dict.of({ authentication_status: false });
      state.authenticated = true;
      return Dict.of({ authentication_status: true });
    },
    "posting_get_login_status()": ({ authenticated }) => Dict.of({ login_status: truth(authenticated) }),
    "post_tweet(content, tags=?, mentions=?)": (state, content, tags, mentions) => {
      if (!truth(state.authenticated)) return refusal("posting");
      const tweet = Dict.of({
        id: state.tweet_counter,
        username: state.username,
        content,
        tags: tags === unset ? state._shared.tags : tags,
        mentions: mentions === unset ? state._shared.mentions : mentions,
      });
      state.tweets.set(state.tweet_counter, tweet);
      state.tweet_counter = add(state.tweet_counter, 1n, "+=");
      return tweet;
    },
    "retweet(tweet_id)": (state, id) => {
      if (!truth(state.authenticated)) return refusal("retweeting");
      if (!state.tweets.has(id)) return noTweet(id);
      const own = listAt(state.retweets, state.username);
      if (contains(own, id)) return Dict.of({ retweet_status: "Already retweeted" });
      callMethod(own, "append", id);
      return Dict.of({ retweet_status: "Successfully retweeted" });
    },
    "comment(tweet_id, comment_content)": (state, id, content) => {
      if (!truth(state.authenticated)) return refusal("commenting");
      if (!state.tweets.has(id)) return noTweet(id);
      callMethod(listAt(state.comments, id), "append", Dict.of({ username: state.username, content }));
      return Dict.of({ comment_status: "Comment added successfully" });
    },
    "mention(tweet_id, mentioned_usernames)": (state, id, names) => {
      if (!state.tweets.has(id)) return noTweet(id);
      callMethod(getItem(getItem(state.tweets, id), "mentions"), "extend", names);
      return Dict.of({ mention_status: "Users mentioned successfully" });
    },
    "follow_user(username_to_follow)": (state, name) => {
      if (!truth(state.authenticated)) return refusal("following");
      if (contains(state.following_list, name)) return Dict.of({ follow_status: false });
      callMethod(state.following_list, "append", name);
      return Dict.of({ follow_status: true });
    },
    "list_all_following()": (state) =>
      truth(state.authenticated) ? Dict.of({ following_list: state.following_list }) : refusal("listing following"),
    "unfollow_user(username_to_unfollow)": (state, name) => {
      if (!truth(state.authenticated)) return refusal("unfollowing");
      if (!contains(state.following_list, name)) return Dict.of({ unfollow_status: false });
      callMethod(state.following_list, "remove", name);
      return Dict.of({ unfollow_status: true });
    },
    "get_tweet(tweet_id)": ({ tweets }, id) => tweets.get(id) ?? noTweet(id),
    "get_user_tweets(username)": ({ tweets }, username) =>
      tweets.values().filter((tweet) => equal(getItem(tweet, "username"), username)),
    "search_tweets(keyword)": ({ tweets }, keyword) =>
      tweets.values().filter((tweet) => {
        const wanted = callMethod(keyword, "lower");
        if (contains(callMethod(getItem(tweet, "content"), "lower"), wanted)) return true;
        return contains(
          iterate(getItem(tweet, "tags")).map((tag) => callMethod(tag, "lower")),
          wanted,
        );
      }),
    "get_tweet_comments(tweet_id)": ({ tweets, comments }, id) =>
      tweets.has(id) ? callMethod(comments, "get", id, []) : noTweet(id),
    "get_user_stats(username)": (state, username) => {
      const tweets = state.tweets.values().filter((tweet) => equal(getItem(tweet, "username"), username));
      const following = equal(username, state.username) ? length(state.following_list) : 0;
      const retweets = length(callMethod(state.retweets, "get", username, []));
      return Dict.of({
        tweet_count: BigInt(tweets.length),
        following_count: BigInt(following),
        retweet_count: BigInt(retweets),
      });
    },
  },
);
