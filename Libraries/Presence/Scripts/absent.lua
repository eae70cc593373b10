local p, user = KEYS[1], ARGV[1]
if redis.call('SCARD', p .. 'presence:devices:' .. user) > 0 then return false end
return { flip(p, user), 0, now }
