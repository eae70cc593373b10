-- The first count is the caller's own and is cleared; of the others only this attempt is taken back.
redis.call('DEL', KEYS[1])
for i = 2, #KEYS do
  if tonumber(redis.call('HGET', KEYS[i], 'n') or '0') > 0 then
    redis.call('HINCRBY', KEYS[i], 'n', -1)
    redis.call('HDEL', KEYS[i], 'u')
  end
end
return 0
