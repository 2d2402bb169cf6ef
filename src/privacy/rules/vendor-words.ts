import { tokenRules } from "./token-rules.ts";

/** Words that name a vendor or what a service is for: a `key` beside one of them is a credential. */
export const vendorWords: ReadonlySet<string> = new Set([
  ...tokenRules.map(({ id }) => id.slice(0, id.indexOf("_"))).filter((word) => word.length > 3),
  ...(
    "abuseipdb agora ai21 alchemy algolia alibaba aliyun alpaca alphavantage amazon amplitude ankr anthropic " +
    "apilayer apns apollo aptos artifactory asana assembly assemblyai atlas atlassian auth0 aws azure bedrock " +
    "binance bitbucket bitfinex bitrise blockchain blockfrost boxclient boxdev braintree braze brex bscscan " +
    "bugsnag bybit captcha ccloud cfapi chargebee circle circleci clarifai clearbit clerk cloudflare cloudsmith " +
    "coapi codecov cognitive cohere coinbase coingecko coinmarketcap confluence confluent contentful cosmos " +
    "covalent crm cryptocompare currencylayer customerio datadog ddapi ddapp deepgram deepl deepseek defined deno " +
    "dependency discord django docusign dropbox duo elastic elasticsearch email erp etherscan eventhub exchange " +
    "exchangerate facebook fastly fbapp fcm finnhub fitbit fixer foursquare freecurrency freshbooks freshdesk " +
    "freshworks friendli gemini genius geo geoapify geocoding ghclient giphy gitbook github gitlab gitpod gmaps " +
    "gocardless gpt greynoise growthbook hapikey hcloud heap hec helicone helius hereapi heremaps heroku hetzner " +
    "honeycomb huawei hubspot hunter ibm ibmcloud infura inngest intercom ionic ipbase ipdata ipgeolocation " +
    "ipinfo ipstack iterable jenkins jfrog jina jira jumpcloud kickbox klaviyo knock kraken kucoin lastfm lemlist " +
    "linkedin linode liveblocks llama llm locationiq logicmonitor logzio mail mailchimp mailjet mapbox mapquest " +
    "maps maptiler matrix maxmind meili meilisearch mem0 meraki mercury messagebird meta metabase mistral " +
    "mixpanel mongodb moralis musixmatch nasa netbird netlify neverbounce newrelic newsapi nexmo ngrok nomic " +
    "novita nrlicense okta okx omdb onesignal openai opencage openexchange openpipe openweather opsgenie " +
    "optimizely pagerduty paypal paystack pexels pipedrive pixabay places plaid plivo polygon polygonscan " +
    "portainer positionstack postmark prefect presharedkey pusher qcloud quandl quicknode rails railway rancher " +
    "rapidapi razorpay recaptcha reddit rollbar rudderstack runway samsara scaleway scw search securitytrails " +
    "segment sendbird sentry serpapi servicebus shodan sms smtp snowflake snyk socket sourcegraph sparkpost " +
    "speech splunk spotify squareapp squareup stadia statuspage steel storyblok strava stripe stytch sumo " +
    "sumologic supabase supermemory teamwork tencent tenor thunderforest thunderstore tickettailor tmdb todoist " +
    "together tomtom tradier trading translate travis trello tts twelvedata twilio twitch twitter typeform " +
    "typesense unkey unsplash upstash uptimerobot urlscan vapid vercel vertex virustotal vonage voyage vtapi " +
    "vultr wandb watson weather weatherapi weatherbit wireguard yelp zeit zendesk zerobounce zoom"
  ).split(" "),
]);
