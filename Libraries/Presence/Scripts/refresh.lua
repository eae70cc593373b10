-- Returns `{version, devices, now}` for a new lease, nil for a renewed one.
local p, user, device, ttl = KEYS[1], ARGV[1], ARGV[2], tonumber(ARGV[3])
local member = user .. '/' .. device
local known = redis.call('EXISTS', p .. 'presence:' .. member)
redis.call('SET', p .. 'presence:' .. member, now, 'PX', ttl)
redis.call('ZADD', p .. 'presence:deadlines', now + ttl, member)
if known == 1 then return false end
redis.call('SADD', p .. 'presence:devices:' .. user, device)
return { flip(p, user), redis.call('SCARD', p .. 'presence:devices:' .. user), now }
