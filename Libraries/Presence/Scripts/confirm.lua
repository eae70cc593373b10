-- Removes the deadline, unless the device has come back meanwhile.
local p, member = KEYS[1], ARGV[1] .. '/' .. ARGV[2]
if redis.call('EXISTS', p .. 'presence:' .. member) == 0 then redis.call('ZREM', p .. 'presence:deadlines', member) end
return 1
