-- What a user asked: all of it is forgotten when the account is disabled or deleted.
create index grant_subjects_by_user on partita.grant_subjects (app, user_id, partition);
