local p, user, device = KEYS[1], ARGV[1], ARGV[2]
local member = user .. '/' .. device
redis.call('ZREM', p .. 'presence:deadlines', member)
redis.call('SREM', p .. 'presence:devices:' .. user, device)
if redis.call('DEL', p .. 'presence:' .. member) == 0 then return false end
return { flip(p, user), redis.call('SCARD', p .. 'presence:devices:' .. user), now }
