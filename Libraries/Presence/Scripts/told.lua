-- The beginning of a lease is told; unless it has ended meanwhile.
redis.call('SET', KEYS[1] .. 'presence:' .. ARGV[1] .. '/' .. ARGV[2], 'told', 'XX', 'KEEPTTL')
return 1
