-- Who is written as online, with one of their devices: when Redis has forgotten everything, nobody else knows.
alter table partita.presence_written add column online_device text;
create index presence_written_online on partita.presence_written (app, user_id) where online_device is not null;
