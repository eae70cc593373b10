-- Counts a call in a time that begins with the first one; the answer is its number within that time.
local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
return count
