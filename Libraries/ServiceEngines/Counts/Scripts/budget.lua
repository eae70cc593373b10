-- Each key holds the moment (Redis' clock, milliseconds) at which the calls so far are paid off; it may be a minute ahead.
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local paid = {}
local wait = 0
for i = 1, #KEYS do
  paid[i] = math.max(tonumber(redis.call('GET', KEYS[i]) or '0'), now) + 60000 / tonumber(ARGV[i])
  wait = math.max(wait, paid[i] - now - 60001)
end
if wait > 0 then return math.ceil(wait) end
for i = 1, #KEYS do redis.call('SET', KEYS[i], string.format('%.3f', paid[i]), 'PX', 120000) end
return 0
