-- The deadline stays: if whoever ends the lease doesn't confirm that this is told, a watcher claims it like a lease that has expired.
local p, user, device, claim = KEYS[1], ARGV[1], ARGV[2], tonumber(ARGV[3])
local member = user .. '/' .. device
if redis.call('DEL', p .. 'presence:' .. member) == 0 then return false end
redis.call('ZADD', p .. 'presence:deadlines', now + claim, member)
redis.call('SREM', p .. 'presence:devices:' .. user, device)
return { flip(p, user), redis.call('SCARD', p .. 'presence:devices:' .. user), now }
