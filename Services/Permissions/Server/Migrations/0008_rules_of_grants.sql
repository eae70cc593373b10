-- partita.grants has the versions that an answer was decided with.
alter table partita.grant_subjects drop column rules;
