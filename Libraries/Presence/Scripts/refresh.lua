-- Returns `{version, devices, now}` for a new lease, and for one whose beginning isn't told a quarter of its time later; nil for any other.
-- Only a device that has just connected changes the gateway that a lease belongs to: one that the device has left for another, and that
-- hasn't noticed it yet, goes on renewing.
local p, user, device, ttl, holder, joins = KEYS[1], ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4], ARGV[5] == '1'
local member = user .. '/' .. device
local lease = redis.call('GET', p .. 'presence:' .. member)
local known = lease and string.match(lease, '^[^@]*')
if lease and not joins then holder = string.match(lease, '@(.*)$') or holder end
local begin = known and tonumber(string.match(known, '^new (%d+)$'))
redis.call('SET', p .. 'presence:' .. member, (known or string.format('new %.0f', now)) .. '@' .. holder, 'PX', ttl)
redis.call('ZADD', p .. 'presence:deadlines', now + ttl, member)
if known and not (begin and now - begin >= ttl / 4) then return false end
redis.call('SADD', p .. 'presence:devices:' .. user, device)
return { flip(p, user), redis.call('SCARD', p .. 'presence:devices:' .. user), now }
