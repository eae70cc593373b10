-- The deadline stays: if whoever ends the lease doesn't confirm that this is told, a watcher claims it like a lease that has expired.
-- A device that has a connection with another gateway by now has that one's lease.
local p, user, device, claim, holder = KEYS[1], ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]
local member = user .. '/' .. device
local known = redis.call('GET', p .. 'presence:' .. member)
if not known or (string.match(known, '@(.*)$') or holder) ~= holder then return false end
redis.call('DEL', p .. 'presence:' .. member)
redis.call('ZADD', p .. 'presence:deadlines', now + claim, member)
redis.call('SREM', p .. 'presence:devices:' .. user, device)
return { flip(p, user), redis.call('SCARD', p .. 'presence:devices:' .. user), now }
