import { tokenRules } from "./token-rules.ts";

/** Vendors whose keys have no mark of their own: a drawn value beside one of these words is a key of theirs. */
export const vendorsOfPlainKeys: ReadonlySet<string> = new Set(
  (
    "ai21 alchemy algolia alibaba aliyun amazon amplitude artifactory asana assembly assemblyai atlas atlassian auth0 " +
    "aws azure binance bitbucket boxclient boxdev braintree bscscan bugsnag ccloud cfapi circle circleci clarifai " +
    "cloudflare coapi codecov cognitive cohere coinbase confluence confluent contentful cosmos datadog ddapi ddapp " +
    "deepgram deepl deepseek discord django docusign dropbox elastic elasticsearch etherscan eventhub facebook fastly " +
    "fbapp freshbooks freshdesk freshworks ghclient github gitlab hapikey hcloud hec hereapi heremaps heroku hetzner " +
    "honeycomb hubspot ibm ibmcloud infura intercom jenkins jfrog jira jumpcloud kraken kucoin linkedin linode logzio " +
    "mailchimp mailjet mapbox meili meilisearch meraki messagebird meta mistral mixpanel mongodb netlify newrelic " +
    "newsapi nexmo ngrok nrlicense okta onesignal openweather opsgenie pagerduty paypal pipedrive plaid plivo " +
    "polygonscan postmark presharedkey pusher qcloud rails railway rapidapi razorpay reddit rollbar scaleway scw " +
    "segment sendbird sentry serpapi servicebus shodan snowflake snyk sparkpost splunk spotify squareapp squareup " +
    "statuspage storyblok sumo sumologic supabase tencent todoist together travis trello twilio twitch twitter " +
    "typesense upstash uptimerobot vercel virustotal vonage vtapi vultr wandb watson weatherapi weatherbit wireguard " +
    "zeit zendesk zoom"
  ).split(" "),
);

/** Words that name a vendor or what a service is for: a `key` beside one of them is a credential. */
export const vendorWords: ReadonlySet<string> = new Set([
  ...vendorsOfPlainKeys,
  ...tokenRules.map(({ id }) => id.slice(0, id.indexOf("_"))).filter((word) => word.length > 3),
  ...(
    "abuseipdb agora alpaca alphavantage ankr anthropic apilayer apns apollo aptos bedrock bitfinex bitrise " +
    "blockchain blockfrost braze brex bybit captcha chargebee clearbit clerk cloudsmith coingecko coinmarketcap " +
    "covalent crm cryptocompare currencylayer customerio defined deno dependency duo email erp exchange exchangerate " +
    "fcm finnhub fitbit fixer foursquare freecurrency friendli gemini genius geo geoapify geocoding giphy gitbook " +
    "gitpod gmaps gocardless gpt greynoise growthbook heap helicone helius huawei hunter inngest ionic ipbase ipdata " +
    "ipgeolocation ipinfo ipstack iterable jina kickbox klaviyo knock lastfm lemlist linode liveblocks llama llm " +
    "locationiq logicmonitor mail mapquest maps maptiler matrix maxmind mem0 mercury metabase moralis musixmatch nasa " +
    "netbird neverbounce nomic novita okx omdb openai opencage openexchange openpipe optimizely paystack pexels " +
    "pixabay places polygon portainer positionstack prefect quandl quicknode rancher recaptcha rudderstack runway " +
    "samsara search securitytrails segment sms smtp socket sourcegraph speech stadia steel strava stripe stytch " +
    "supermemory teamwork tenor thunderforest thunderstore tickettailor tmdb tomtom tradier trading translate tts " +
    "twelvedata typeform unkey unsplash urlscan vapid vertex voyage weather yelp zerobounce"
  ).split(" "),
]);
