local p = KEYS[1]
if redis.call('DEL', p .. 'presence:marking') == 1 then redis.call('SET', p .. 'presence:mark', 1) end
return 1
