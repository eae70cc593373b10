-- The deadline of a lease that was renewed meanwhile is set to its new end; a lease that has expired is claimed.
local p, limit, claim, ttl = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local due = redis.call('ZRANGEBYSCORE', p .. 'presence:deadlines', '-inf', now, 'LIMIT', 0, limit)
local claimed = {}
for _, member in ipairs(due) do
    local left = redis.call('PTTL', p .. 'presence:' .. member)
    if left > 0 then
        redis.call('ZADD', p .. 'presence:deadlines', now + left, member)
    else
        redis.call('ZADD', p .. 'presence:deadlines', now + claim, member)
        local app, name, device = string.match(member, '^([^/]*)/([^/]*)/(.*)$')
        local user = app .. '/' .. name
        redis.call('SREM', p .. 'presence:devices:' .. user, device)
        claimed[#claimed + 1] = {
            member, flip(p, user),
            redis.call('SCARD', p .. 'presence:devices:' .. user), now
        }
    end
end
local first = redis.call('ZRANGE', p .. 'presence:deadlines', 0, 0, 'WITHSCORES')[2]
return { claimed, math.min(first and math.max(first - now, 0) or ttl, ttl) }
