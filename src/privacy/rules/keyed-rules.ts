import { tokenRules } from "./token-rules.ts";

/**
 * Credentials without a mark of their own, recognised by the vendor's word in the name beside them. The shape is what the vendor
 * documents; a value of another shape falls under the general rules for keys, tokens and secrets.
 */
export interface KeyedRule {
  readonly id: string;
  /** Lower case; looked for in the name without `_`, `-`, `.` and spaces. */
  readonly words: readonly string[];
  /** Of the whole value. */
  readonly shape: string;
  readonly docs: string;
}

const hex32 = "[a-f0-9]{32}";
const hex40 = "[a-f0-9]{40}";
const hex64 = "[a-f0-9]{64}";
const uuid = "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}";

// biome-ignore format: one rule a line, so that the list reads as a table
export const keyedRules: readonly KeyedRule[] = [
  { id: "aws_secret_access_key", words: ["aws", "amazon", "s3"], shape: "[A-Za-z0-9/+]{40}", docs: "https://docs.aws.amazon.com/IAM/latest/UserGuide/id_credentials_access-keys.html" },
  { id: "azure_key", words: ["azure", "cosmos", "servicebus", "eventhub", "cognitive"], shape: "[A-Za-z0-9+/]{32,88}={0,2}", docs: "https://learn.microsoft.com/azure/ai-services/authentication" },
  { id: "cloudflare_key", words: ["cloudflare", "cfapi"], shape: "[\\w-]{37,40}", docs: "https://developers.cloudflare.com/fundamentals/api/get-started/create-token/" },
  { id: "alibaba_secret_key", words: ["alibaba", "aliyun"], shape: "[A-Za-z0-9]{30}", docs: "https://www.alibabacloud.com/help/en/ram/user-guide/create-an-accesskey-pair" },
  { id: "tencent_secret_key", words: ["tencent", "qcloud"], shape: "[A-Za-z0-9]{32}", docs: "https://www.tencentcloud.com/document/product/598/34228" },
  { id: "heroku_api_key", words: ["heroku"], shape: uuid, docs: "https://devcenter.heroku.com/articles/platform-api-quickstart" },
  { id: "scaleway_secret_key", words: ["scaleway", "scw"], shape: uuid, docs: "https://www.scaleway.com/en/docs/iam/how-to/create-api-keys/" },
  { id: "vultr_api_key", words: ["vultr"], shape: "[A-Z0-9]{36}", docs: "https://docs.vultr.com/platform/other/api" },
  { id: "linode_api_token", words: ["linode"], shape: hex64, docs: "https://techdocs.akamai.com/linode-api/reference/get-started" },
  { id: "hetzner_token", words: ["hetzner", "hcloud"], shape: "[A-Za-z0-9]{64}", docs: "https://docs.hetzner.com/cloud/api/getting-started/generating-api-token/" },
  { id: "fastly_token", words: ["fastly"], shape: "[\\w-]{32}", docs: "https://docs.fastly.com/en/guides/using-api-tokens" },
  { id: "netlify_access_token", words: ["netlify"], shape: "[\\w-]{40,46}", docs: "https://docs.netlify.com/api/get-started/" },
  { id: "vercel_access_token", words: ["vercel", "zeit"], shape: "[A-Za-z0-9]{24}", docs: "https://vercel.com/docs/rest-api" },
  { id: "railway_token", words: ["railway"], shape: uuid, docs: "https://docs.railway.com/reference/public-api" },
  { id: "ibm_cloud_api_key", words: ["ibm", "ibmcloud", "watson"], shape: "[\\w-]{44}", docs: "https://cloud.ibm.com/docs/account?topic=account-userapikey" },
  { id: "datadog_api_key", words: ["datadog", "ddapi", "ddapp"], shape: "[a-f0-9]{32}(?:[a-f0-9]{8})?", docs: "https://docs.datadoghq.com/account_management/api-app-keys/" },
  { id: "newrelic_api_key", words: ["newrelic", "nrlicense"], shape: "[A-Za-z0-9]{40,64}", docs: "https://docs.newrelic.com/docs/apis/intro-apis/new-relic-api-keys/" },
  { id: "sentry_auth_token", words: ["sentry"], shape: hex64, docs: "https://docs.sentry.io/account/auth-tokens/" },
  { id: "rollbar_token", words: ["rollbar"], shape: hex32, docs: "https://docs.rollbar.com/docs/access-tokens" },
  { id: "bugsnag_api_key", words: ["bugsnag"], shape: hex32, docs: "https://docs.bugsnag.com/api/error-reporting/" },
  { id: "honeycomb_api_key", words: ["honeycomb"], shape: "[A-Za-z0-9]{22,32}", docs: "https://docs.honeycomb.io/configure/environments/manage-api-keys/" },
  { id: "sumologic_key", words: ["sumo", "sumologic"], shape: "[A-Za-z0-9]{64}", docs: "https://help.sumologic.com/docs/manage/security/access-keys/" },
  { id: "splunk_hec_token", words: ["splunk", "hec"], shape: uuid, docs: "https://docs.splunk.com/Documentation/Splunk/latest/Data/UsetheHTTPEventCollector" },
  { id: "logzio_token", words: ["logzio"], shape: "[A-Za-z]{32}", docs: "https://docs.logz.io/docs/user-guide/admin/authentication-tokens/api-tokens/" },
  { id: "opsgenie_api_key", words: ["opsgenie"], shape: uuid, docs: "https://support.atlassian.com/opsgenie/docs/api-key-management/" },
  { id: "pagerduty_api_key", words: ["pagerduty"], shape: "[\\w+-]{20,32}", docs: "https://support.pagerduty.com/main/docs/api-access-keys" },
  { id: "statuspage_api_key", words: ["statuspage"], shape: uuid, docs: "https://developer.statuspage.io/" },
  { id: "uptimerobot_api_key", words: ["uptimerobot"], shape: "u?[0-9]{6,9}-[a-f0-9]{24,32}", docs: "https://uptimerobot.com/api/" },
  { id: "mistral_api_key", words: ["mistral"], shape: "[A-Za-z0-9]{32}", docs: "https://docs.mistral.ai/getting-started/quickstart" },
  { id: "cohere_api_key", words: ["cohere", "coapi"], shape: "[A-Za-z0-9]{40}", docs: "https://docs.cohere.com/docs/rate-limits" },
  { id: "deepseek_api_key", words: ["deepseek"], shape: "sk-[a-f0-9]{32}", docs: "https://api-docs.deepseek.com/" },
  { id: "together_api_key", words: ["together"], shape: hex64, docs: "https://docs.together.ai/docs/quickstart" },
  { id: "ai21_api_key", words: ["ai21"], shape: "[A-Za-z0-9]{32}", docs: "https://docs.ai21.com/reference/api-authentication" },
  { id: "assemblyai_api_key", words: ["assemblyai", "assembly"], shape: hex32, docs: "https://www.assemblyai.com/docs" },
  { id: "deepgram_api_key", words: ["deepgram"], shape: hex40, docs: "https://developers.deepgram.com/docs/create-additional-api-keys" },
  { id: "deepl_api_key", words: ["deepl"], shape: `${uuid}(?::fx)?`, docs: "https://developers.deepl.com/docs/getting-started/auth" },
  { id: "clarifai_key", words: ["clarifai"], shape: hex32, docs: "https://docs.clarifai.com/clarifai-basics/authentication/personal-access-tokens/" },
  { id: "weights_and_biases_key", words: ["wandb"], shape: hex40, docs: "https://docs.wandb.ai/guides/track/public-api-guide" },
  { id: "serpapi_key", words: ["serpapi"], shape: hex64, docs: "https://serpapi.com/search-api" },
  { id: "rapidapi_key", words: ["rapidapi"], shape: "[A-Za-z0-9]{50}", docs: "https://docs.rapidapi.com/docs/keys" },
  { id: "twilio_auth_token", words: ["twilio"], shape: hex32, docs: "https://www.twilio.com/docs/iam/api" },
  { id: "mailchimp_key", words: ["mailchimp"], shape: "[a-f0-9]{32}(?:-us\\d{1,2})?", docs: "https://mailchimp.com/help/about-api-keys/" },
  { id: "mailjet_key", words: ["mailjet"], shape: hex32, docs: "https://dev.mailjet.com/email/guides/getting-started/" },
  { id: "sparkpost_key", words: ["sparkpost"], shape: hex40, docs: "https://developers.sparkpost.com/api/" },
  { id: "postmark_token", words: ["postmark"], shape: uuid, docs: "https://postmarkapp.com/developer/api/overview" },
  { id: "messagebird_key", words: ["messagebird"], shape: "[A-Za-z0-9]{25}", docs: "https://developers.messagebird.com/api/" },
  { id: "vonage_secret", words: ["vonage", "nexmo"], shape: "[A-Za-z0-9]{16}", docs: "https://developer.vonage.com/en/getting-started/concepts/authentication" },
  { id: "plivo_token", words: ["plivo"], shape: "[A-Za-z0-9]{40}", docs: "https://www.plivo.com/docs/account/api/overview" },
  { id: "pusher_secret", words: ["pusher"], shape: "[a-f0-9]{20}", docs: "https://pusher.com/docs/channels/" },
  { id: "onesignal_key", words: ["onesignal"], shape: "[A-Za-z0-9+/=-]{36,64}", docs: "https://documentation.onesignal.com/docs/keys-and-ids" },
  { id: "sendbird_token", words: ["sendbird"], shape: hex40, docs: "https://sendbird.com/docs/chat/platform-api/v3/prepare-to-use-api" },
  { id: "intercom_access_token", words: ["intercom"], shape: "[\\w=-]{60}", docs: "https://developers.intercom.com/docs/build-an-integration/learn-more/authentication" },
  { id: "zendesk_token", words: ["zendesk"], shape: "[A-Za-z0-9]{40}", docs: "https://developer.zendesk.com/api-reference/introduction/security-and-auth/" },
  { id: "freshdesk_key", words: ["freshdesk", "freshworks", "freshbooks"], shape: "[A-Za-z0-9]{20,64}", docs: "https://developers.freshdesk.com/api/" },
  { id: "discord_client_secret", words: ["discord"], shape: "[\\w-]{32}", docs: "https://discord.com/developers/docs/topics/oauth2" },
  { id: "facebook_app_secret", words: ["facebook", "fbapp", "meta"], shape: hex32, docs: "https://developers.facebook.com/docs/facebook-login/guides/access-tokens/" },
  { id: "twitter_secret", words: ["twitter"], shape: "[A-Za-z0-9-]{25,60}", docs: "https://docs.x.com/fundamentals/authentication/oauth-1-0a/api-key-and-secret" },
  { id: "twitch_secret", words: ["twitch"], shape: "[a-z0-9]{30}", docs: "https://dev.twitch.tv/docs/authentication/" },
  { id: "spotify_secret", words: ["spotify"], shape: hex32, docs: "https://developer.spotify.com/documentation/web-api/concepts/apps" },
  { id: "reddit_secret", words: ["reddit"], shape: "[\\w-]{27,30}", docs: "https://github.com/reddit-archive/reddit/wiki/OAuth2" },
  { id: "linkedin_client_secret", words: ["linkedin"], shape: "[A-Za-z0-9]{16}", docs: "https://learn.microsoft.com/linkedin/shared/authentication/client-credentials-flow" },
  { id: "github_client_secret", words: ["github", "ghclient"], shape: hex40, docs: "https://docs.github.com/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps" },
  { id: "gitlab_secret", words: ["gitlab"], shape: "[\\w-]{20,64}", docs: "https://docs.gitlab.com/security/tokens/" },
  { id: "bitbucket_secret", words: ["bitbucket"], shape: "[\\w=-]{20,64}", docs: "https://support.atlassian.com/bitbucket-cloud/docs/use-oauth-on-bitbucket-cloud/" },
  { id: "atlassian_api_token", words: ["atlassian", "jira", "confluence"], shape: "[A-Za-z0-9]{24}", docs: "https://support.atlassian.com/atlassian-account/docs/manage-api-tokens-for-your-atlassian-account/" },
  { id: "circleci_api_token", words: ["circle", "circleci"], shape: hex40, docs: "https://circleci.com/docs/managing-api-tokens/" },
  { id: "travis_token", words: ["travis"], shape: "[A-Za-z0-9_-]{22}", docs: "https://docs.travis-ci.com/user/triggering-builds/" },
  { id: "codecov_upload_token", words: ["codecov"], shape: uuid, docs: "https://docs.codecov.com/docs/codecov-tokens" },
  { id: "snyk_api_token", words: ["snyk"], shape: uuid, docs: "https://docs.snyk.io/snyk-api/authentication-for-api" },
  { id: "jenkins_token", words: ["jenkins"], shape: "[a-f0-9]{32,36}", docs: "https://www.jenkins.io/doc/book/system-administration/authenticating-scripted-clients/" },
  { id: "artifactory_token", words: ["artifactory", "jfrog"], shape: "[A-Za-z0-9]{64,73}", docs: "https://jfrog.com/help/r/jfrog-platform-administration-documentation/access-tokens" },
  { id: "algolia_api_key", words: ["algolia"], shape: hex32, docs: "https://www.algolia.com/doc/guides/security/api-keys/" },
  { id: "elastic_api_key", words: ["elastic", "elasticsearch"], shape: "(?=[^A-Z]*[A-Z])[A-Za-z0-9+/_=-]{24,80}", docs: "https://www.elastic.co/docs/deploy-manage/api-keys" },
  { id: "confluent_secret", words: ["confluent", "ccloud"], shape: "[A-Za-z0-9+/]{64}", docs: "https://docs.confluent.io/cloud/current/security/authenticate/workload-identities/service-accounts/api-keys/" },
  { id: "snowflake_password", words: ["snowflake"], shape: "[^\\s]{8,64}", docs: "https://docs.snowflake.com/en/user-guide/admin-user-management" },
  { id: "mongodb_atlas_key", words: ["atlas", "mongodb"], shape: uuid, docs: "https://www.mongodb.com/docs/atlas/configure-api-access/" },
  { id: "supabase_service_key", words: ["supabase"], shape: "[\\w.-]{40,400}", docs: "https://supabase.com/docs/guides/api/api-keys" },
  { id: "upstash_token", words: ["upstash"], shape: "[\\w=-]{40,120}", docs: "https://upstash.com/docs/redis/features/restapi" },
  { id: "contentful_key", words: ["contentful"], shape: "[\\w-]{43}", docs: "https://www.contentful.com/developers/docs/references/authentication/" },
  { id: "storyblok_token", words: ["storyblok"], shape: "[A-Za-z0-9]{22}tt", docs: "https://www.storyblok.com/docs/api" },
  { id: "dropbox_secret", words: ["dropbox"], shape: "[a-z0-9]{15}", docs: "https://www.dropbox.com/developers/reference/oauth-guide" },
  { id: "box_secret", words: ["boxclient", "boxdev"], shape: "[A-Za-z0-9]{32}", docs: "https://developer.box.com/guides/authentication/" },
  { id: "asana_secret", words: ["asana"], shape: hex32, docs: "https://developers.asana.com/docs/personal-access-token" },
  { id: "trello_token", words: ["trello"], shape: "[a-f0-9]{32}(?:[a-f0-9]{32})?", docs: "https://developer.atlassian.com/cloud/trello/guides/rest-api/api-introduction/" },
  { id: "todoist_token", words: ["todoist"], shape: hex40, docs: "https://developer.todoist.com/rest/v2/" },
  { id: "hubspot_api_key", words: ["hubspot", "hapikey"], shape: uuid, docs: "https://developers.hubspot.com/docs/guides/apps/developer-api-keys" },
  { id: "pipedrive_token", words: ["pipedrive"], shape: hex40, docs: "https://pipedrive.readme.io/docs/core-api-concepts-authentication" },
  { id: "segment_write_key", words: ["segment"], shape: "[A-Za-z0-9]{32}", docs: "https://segment.com/docs/connections/find-writekey/" },
  { id: "mixpanel_secret", words: ["mixpanel"], shape: hex32, docs: "https://developer.mixpanel.com/reference/authentication" },
  { id: "amplitude_key", words: ["amplitude"], shape: hex32, docs: "https://amplitude.com/docs/apis/authentication" },
  { id: "okta_api_token", words: ["okta"], shape: "00[\\w-]{40}", docs: "https://developer.okta.com/docs/guides/create-an-api-token/main/" },
  { id: "auth0_secret", words: ["auth0"], shape: "[\\w-]{64}", docs: "https://auth0.com/docs/get-started/applications/application-settings" },
  { id: "paypal_secret", words: ["paypal", "braintree"], shape: "[\\w-]{32,80}", docs: "https://developer.paypal.com/api/rest/authentication/" },
  { id: "plaid_secret", words: ["plaid"], shape: "[a-f0-9]{30}", docs: "https://plaid.com/docs/api/" },
  { id: "razorpay_secret", words: ["razorpay"], shape: "[A-Za-z0-9]{24}", docs: "https://razorpay.com/docs/api/authentication/" },
  { id: "coinbase_secret", words: ["coinbase"], shape: "[A-Za-z0-9+/=_-]{32,90}", docs: "https://docs.cdp.coinbase.com/get-started/docs/cdp-api-keys" },
  { id: "binance_key", words: ["binance"], shape: "[A-Za-z0-9]{64}", docs: "https://developers.binance.com/docs/binance-spot-api-docs/rest-api/endpoint-security-type" },
  { id: "kraken_key", words: ["kraken"], shape: "[A-Za-z0-9+/=]{56,90}", docs: "https://docs.kraken.com/api/docs/guides/spot-rest-auth" },
  { id: "kucoin_key", words: ["kucoin"], shape: `(?:[a-f0-9]{24}|${uuid})`, docs: "https://www.kucoin.com/docs-new/authentication" },
  { id: "infura_or_alchemy_key", words: ["infura", "alchemy"], shape: "[A-Za-z0-9_-]{32}", docs: "https://docs.metamask.io/services/get-started/infura/" },
  { id: "etherscan_key", words: ["etherscan", "bscscan", "polygonscan"], shape: "[A-Z0-9]{34}", docs: "https://docs.etherscan.io/getting-started/viewing-api-usage-statistics" },
  { id: "openweather_key", words: ["openweather", "weatherapi", "weatherbit"], shape: "[a-f0-9]{31,32}", docs: "https://openweathermap.org/appid" },
  { id: "newsapi_key", words: ["newsapi"], shape: hex32, docs: "https://newsapi.org/docs/authentication" },
  { id: "shodan_key", words: ["shodan"], shape: "[A-Za-z0-9]{32}", docs: "https://developer.shodan.io/api/requirements" },
  { id: "virustotal_key", words: ["virustotal", "vtapi"], shape: hex64, docs: "https://docs.virustotal.com/reference/overview" },
  { id: "ngrok_authtoken", words: ["ngrok"], shape: "[A-Za-z0-9]{25,30}_[A-Za-z0-9]{20,24}", docs: "https://ngrok.com/docs/agent/" },
  { id: "mapbox_key", words: ["mapbox"], shape: "[ps]k\\.[\\w.-]{60,200}", docs: "https://docs.mapbox.com/help/dive-deeper/access-tokens/" },
  { id: "here_key", words: ["hereapi", "heremaps"], shape: "[\\w-]{43}", docs: "https://www.here.com/docs/bundle/identity-and-access-management-developer-guide/page/topics/plat-using-apikeys.html" },
  { id: "cisco_meraki_key", words: ["meraki"], shape: hex40, docs: "https://developer.cisco.com/meraki/api-v1/authorization/" },
  { id: "jumpcloud_key", words: ["jumpcloud"], shape: hex40, docs: "https://docs.jumpcloud.com/api/2.0/index.html" },
  { id: "zoom_secret", words: ["zoom"], shape: "[A-Za-z0-9]{32,36}", docs: "https://developers.zoom.us/docs/internal-apps/s2s-oauth/" },
  { id: "docusign_key", words: ["docusign"], shape: uuid, docs: "https://developers.docusign.com/platform/auth/" },
  { id: "square_secret", words: ["squareup", "squareapp"], shape: "[\\w-]{22,64}", docs: "https://developer.squareup.com/docs/build-basics/access-tokens" },
  { id: "typesense_key", words: ["typesense", "meili", "meilisearch"], shape: "[A-Za-z0-9_-]{16,64}", docs: "https://typesense.org/docs/api/api-keys.html" },
  { id: "django_secret_key", words: ["django"], shape: "[^\\s\"']{30,90}", docs: "https://docs.djangoproject.com/en/stable/ref/settings/#secret-key" },
  { id: "rails_master_key", words: ["rails", "secretkeybase"], shape: "(?:[a-f0-9]{32}|[a-f0-9]{64}|[a-f0-9]{128})", docs: "https://guides.rubyonrails.org/security.html#custom-credentials" },
  { id: "wireguard_key", words: ["wireguard", "presharedkey"], shape: "[A-Za-z0-9+/]{43}=", docs: "https://www.wireguard.com/quickstart/" },
];

/** Words that name a vendor: a `key` beside one of them is a credential. */
export const vendorWords: ReadonlySet<string> = new Set([
  ...keyedRules.flatMap(({ words }) => words),
  ...tokenRules
    .map(({ id }) => id.slice(0, id.indexOf("_")))
    .filter((word) => word.length > 3 && !["https", "bearer"].includes(word)),
  ..."maps gmaps recaptcha captcha weather stripe openai anthropic gemini vertex bedrock llm gpt smtp mail email sms geo geocoding places translate speech tts search crm erp abuseipdb greynoise urlscan securitytrails hunter ipinfo ipstack ipdata ipgeolocation maxmind apilayer fixer currencylayer exchangerate openexchange tmdb omdb nasa giphy tenor unsplash pexels pixabay lastfm musixmatch genius yelp foursquare strava fitbit tomtom mapquest opencage locationiq positionstack geoapify maptiler thunderforest stadia clearbit apollo lemlist klaviyo iterable braze customerio rudderstack heap optimizely kickbox neverbounce zerobounce coingecko coinmarketcap cryptocompare polygon finnhub alphavantage alpaca quandl twelvedata tradier bybit okx bitfinex moralis covalent quicknode ankr blockfrost helius agora duo huawei fcm apns vapid blockchain exchange trading".split(
    " ",
  ),
]);

interface Vendor {
  readonly word: string;
  readonly id: string;
  readonly shape: RegExp;
}

const vendors: readonly Vendor[] = keyedRules.flatMap(({ id, words, shape }) => {
  const whole = new RegExp(`^(?:${shape})$`);
  return words.map((word) => ({ word, id, shape: whole }));
});
/** Name → the vendors it mentions; most names come again and again. */
const vendorsByName = new Map<string, readonly Vendor[]>();
const none: readonly Vendor[] = [];

/** The rule of a vendor that the name mentions and whose shape the value has. */
export function vendorRule(name: string, value: string): string | undefined {
  let mentioned = vendorsByName.get(name);
  if (mentioned === undefined) {
    const plain = name.toLowerCase().replace(/[^a-z0-9]/g, "");
    mentioned = vendors.filter(({ word }) => plain.includes(word));
    if (mentioned.length === 0) mentioned = none;
    if (vendorsByName.size > 4_096) vendorsByName.clear();
    vendorsByName.set(name, mentioned);
  }
  return mentioned.find(({ shape }) => shape.test(value))?.id;
}
