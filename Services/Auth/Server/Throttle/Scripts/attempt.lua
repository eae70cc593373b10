-- Each key holds `n`, the attempts, and `u`, the moment (Redis' clock, milliseconds) until which the next is refused.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local wait = 0
for i = 1, #KEYS do
  local until_ = tonumber(redis.call('HGET', KEYS[i], 'u') or '0')
  if until_ - now > wait then wait = until_ - now end
end
if wait > 0 then return wait end
for i = 1, #KEYS do
  local free, longest, memory = tonumber(ARGV[i * 3 - 2]), tonumber(ARGV[i * 3 - 1]), tonumber(ARGV[i * 3])
  local n = redis.call('HINCRBY', KEYS[i], 'n', 1)
  if n >= free then
    local pause = math.min(2 ^ math.min(n - free, 20), longest) * 1000
    redis.call('HSET', KEYS[i], 'u', string.format('%d', now + pause))
  end
  redis.call('EXPIRE', KEYS[i], memory)
end
return 0
