/**
 * Domains of which anybody can get a name below, and which the public suffix list lacks. Wildcards at, above and below them are refused. A list can
 * never be complete; these are the kinds that cost nothing and take a minute to get.
 */
export const SHARED_DOMAINS: readonly string[] = [
  // Any address is a name: 192-0-2-1.sslip.io is the machine 192.0.2.1, whoever has it.
  ...['sslip.io', 'nip.io', 'xip.io', 'traefik.me', 'local-ip.co', 'local-ip.sh', 'backname.io', 'ip.addr.tools', 'plex.direct'],
  // Storage and networks for delivery: names are buckets, zones and machines of any customer.
  ...[
    'azure.com',
    'azure.net',
    'msedge.net',
    'oraclecloud.com',
    'oraclevcn.com',
    'aliyuncs.com',
    'alicdn.com',
    'myqcloud.com',
    'qcloud.com',
  ],
  ...['bcebos.com', 'bcelive.com', 'myhuaweicloud.com', 'volces.com', 'b-cdn.net', 'bunnycdn.com', 'mediadelivery.net', 'backblazeb2.com'],
  ...[
    'wasabisys.com',
    'idrivee2.com',
    'your-objectstorage.com',
    'kxcdn.com',
    'gcdn.co',
    'stackpathcdn.com',
    'stackpathdns.com',
    'hwcdn.net',
  ],
  ...[
    'edgecastcdn.net',
    'llnwd.net',
    'lldns.net',
    'footprint.net',
    'cachefly.net',
    'cdnetworks.net',
    'qiniudns.com',
    'qiniucdn.com',
    'qbox.me',
  ],
  ...['clouddn.com', 'upaiyun.com', 'rackcdn.com', 'imgix.net', 'cloudinary.com', 'imagekit.io'],
  ...['sirv.com', 'twic.pics', 'googleusercontent.com', 'firebaseio.com', 'ipfs.io', 'storage.googleapis.com', 'scdn.co', 'selcdn.ru'],
  // Websites, blogs and shops.
  ...['wordpress.com', 'wpcomstaging.com', 'wpengine.com', 'kinsta.cloud', 'tumblr.com', 'substack.com', 'medium.com', 'livejournal.com'],
  ...['dreamwidth.org', 'ghost.io', 'neocities.org', 'weebly.com', 'squarespace.com', 'strikingly.com', 'mystrikingly.com', 'webnode.com'],
  ...[
    'webnode.page',
    'jimdofree.com',
    'jimdosite.com',
    'jimdo.com',
    'over-blog.com',
    'typepad.com',
    'tripod.com',
    'angelfire.com',
    'tistory.com',
  ],
  ...['blog.jp', 'fc2.com', 'livedoor.jp', 'livedoor.blog', 'seesaa.net', 'exblog.jp', 'cocolog-nifty.com', 'canalblog.com'],
  ...['000webhostapp.com', 'infinityfreeapp.com', 'byethost.com', 'ucoz.com', 'ucoz.ru', 'narod.ru', 'fandom.com', 'wikia.com'],
  ...['wikidot.com', 'miraheze.org', 'itch.io', 'bandcamp.com', 'deviantart.com', 'bigcartel.com', 'gumroad.com', 'super.site'],
  ...['hashnode.dev', 'sharepoint.com', 'zendesk.com', 'freshdesk.com', 'atlassian.net', 'slack.com'],
  ...['sourceforge.net', 'sourceforge.io', 'launchpad.net', 'glitch.me', 'stackblitz.io', 'codesandbox.io'],
  // Names of machines at home, tunnels to them, and inboxes for requests.
  ...['afraid.org', 'mooo.com', 'chickenkiller.com', 'changeip.com', 'dynu.com', 'loca.lt', 'localtunnel.me', 'serveo.net'],
  ...['localhost.run', 'lhr.life', 'pinggy.link', 'pinggy.io', 'bore.pub', 'pagekite.me', 'tunnelto.dev', 'portmap.io', 'webhook.site'],
  ...[
    'requestcatcher.com',
    'beeceptor.com',
    'pipedream.net',
    'mockapi.io',
    'burpcollaborator.net',
    'oastify.com',
    'interact.sh',
    'dnslog.cn',
  ],
  ...['oast.pro', 'oast.live', 'oast.site', 'oast.online', 'oast.fun', 'oast.me', 'ceye.io', 'canarytokens.com'],
]
