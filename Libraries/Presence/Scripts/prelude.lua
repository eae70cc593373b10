-- `now` in milliseconds, and the number of a user's next flip: one more than before, and never less than the time in microseconds.
local t = redis.call('TIME') local now = t[1] * 1000 + math.floor(t[2] / 1000)
local function flip(p, user)
    local key = p .. 'presence:version:' .. user
    local version = math.max((tonumber(redis.call('GET', key)) or 0) + 1, t[1] * 1000000 + t[2])
    redis.call('SET', key, string.format('%.0f', version), 'EX', 86400)
    return version
end
