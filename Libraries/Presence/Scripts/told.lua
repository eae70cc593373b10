-- The beginning of a lease is told; unless it has ended meanwhile.
local lease = KEYS[1] .. 'presence:' .. ARGV[1] .. '/' .. ARGV[2]
local known = redis.call('GET', lease)
if known then redis.call('SET', lease, 'told' .. (string.match(known, '@.*$') or ''), 'KEEPTTL') end
return 1
