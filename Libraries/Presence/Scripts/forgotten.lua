local p, claim = KEYS[1], ARGV[1]
if redis.call('EXISTS', p .. 'presence:mark') == 1 then return 0 end
return redis.call('SET', p .. 'presence:marking', 1, 'NX', 'PX', claim) and 1 or 0
