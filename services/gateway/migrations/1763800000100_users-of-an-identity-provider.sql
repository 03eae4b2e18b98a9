alter table "user"
  add column issuer text,
  add column subject text,
  add constraint user_has_both_or_none check ((issuer is null) = (subject is null)),
  add constraint user_issuer_subject_key unique (issuer, subject);
