// Created once with joserfc 1.8 and cryptography, so that another implementation has signed what ours verifies.

enum ForeignTokenVectors {
    /// A time between the tokens' `iat` and `exp`.
    static let now: Int64 = 1_800_000_000

    /// What HS256 tokens are signed with.
    static let secret = "a secret of more than 32 characters!"
    /// The RSA key as SubjectPublicKeyInfo.
    static let rsaPEM = """
        -----BEGIN PUBLIC KEY-----
        MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAsXooG8liXbd71pKydbwu
        DDtE9r5THeMxk6+5GIB+Q3djhbxGu2QIBRLFzS+W0dkFi3F38evVnRk/GaQAlBJr
        aU7FFAmG6r7ihTpePzfRQKi0NEHEdjr2eolT8Pp2hkRKCA+rHsDheMhakNUz+jXx
        AKsCDX7zAHeOuVfO7HTm3gZ/26NAKDJxRmmb4CL+R6aHZqi+I1/qL/LnuIHX+W6J
        u78RisVNkq1zcEynXVzglKMlm2IWnCvpEpR+pVN7jCOfEIuNUrQhXWG6yKVsGSJH
        D/l4dRlPIZK/XKdzKUTyYV9d9Fk+4QhK1EFVFlnL3RL+PIP4C9fJXrNd6abu/ig2
        pwIDAQAB
        -----END PUBLIC KEY-----
        """
    /// The same as RSAPublicKey.
    static let rsaPKCS1 = """
        -----BEGIN RSA PUBLIC KEY-----
        MIIBCgKCAQEAsXooG8liXbd71pKydbwuDDtE9r5THeMxk6+5GIB+Q3djhbxGu2QI
        BRLFzS+W0dkFi3F38evVnRk/GaQAlBJraU7FFAmG6r7ihTpePzfRQKi0NEHEdjr2
        eolT8Pp2hkRKCA+rHsDheMhakNUz+jXxAKsCDX7zAHeOuVfO7HTm3gZ/26NAKDJx
        Rmmb4CL+R6aHZqi+I1/qL/LnuIHX+W6Ju78RisVNkq1zcEynXVzglKMlm2IWnCvp
        EpR+pVN7jCOfEIuNUrQhXWG6yKVsGSJHD/l4dRlPIZK/XKdzKUTyYV9d9Fk+4QhK
        1EFVFlnL3RL+PIP4C9fJXrNd6abu/ig2pwIDAQAB
        -----END RSA PUBLIC KEY-----
        """
    /// An RSA key of 1024 bits.
    static let smallPEM = """
        -----BEGIN PUBLIC KEY-----
        MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDPAGe9l2pR1Uqaqg6S58PJznJj
        p0tHT6oqpG+HGZwH/7Lwu2ERBStVM3lr7mUe96AT5qR0z1L00w7eHl+6QMQdFrnx
        8F7D8euDQuiM9DU2BMBz7hN14rd4Gcdz9Q2FiqGdgWUaNqvtYX8edlQvh9zACw17
        vGzqlySr/bHjLkOnRQIDAQAB
        -----END PUBLIC KEY-----
        """
    /// The EC key, which isn't RSA.
    static let ecPEM = """
        -----BEGIN PUBLIC KEY-----
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAESrkPpX30/4li3IpxsmICUG9Fdws8
        m2SPwBH6RgwtoAsFTomyNpXpdYNkoQ+OCfJx23RGzB7MVXvwD7A7iUfZNg==
        -----END PUBLIC KEY-----
        """
    /// A key set that also contains keys of other kinds.
    static let jwks = #"""
        {"keys": [{"n": "sXooG8liXbd71pKydbwuDDtE9r5THeMxk6-5GIB-Q3djhbxGu2QIBRLFzS-W0dkFi3F38evVnRk_GaQAlBJraU7FFAmG6r7ihTpePzfRQKi0NEHEdjr2eolT8Pp2hkRKCA-rHsDheMhakNUz-jXxAKsCDX7zAHeOuVfO7HTm3gZ_26NAKDJxRmmb4CL-R6aHZqi-I1_qL_LnuIHX-W6Ju78RisVNkq1zcEynXVzglKMlm2IWnCvpEpR-pVN7jCOfEIuNUrQhXWG6yKVsGSJHD_l4dRlPIZK_XKdzKUTyYV9d9Fk-4QhK1EFVFlnL3RL-PIP4C9fJXrNd6abu_ig2pw", "e": "AQAB", "kid": "rsa-1", "kty": "RSA", "use": "sig", "alg": "RS256"}, {"crv": "P-256", "x": "SrkPpX30_4li3IpxsmICUG9Fdws8m2SPwBH6RgwtoAs", "y": "BU6JsjaV6XWDZKEPjgnycdt0RswezFV78A-wO4lH2TY", "kid": "ec-1", "kty": "EC"}, {"kty": "OKP", "crv": "Ed25519", "kid": "ed-1", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}, {"kty": "oct", "kid": "oct-1", "k": "eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHg"}, {"n": "sXooG8liXbd71pKydbwuDDtE9r5THeMxk6-5GIB-Q3djhbxGu2QIBRLFzS-W0dkFi3F38evVnRk_GaQAlBJraU7FFAmG6r7ihTpePzfRQKi0NEHEdjr2eolT8Pp2hkRKCA-rHsDheMhakNUz-jXxAKsCDX7zAHeOuVfO7HTm3gZ_26NAKDJxRmmb4CL-R6aHZqi-I1_qL_LnuIHX-W6Ju78RisVNkq1zcEynXVzglKMlm2IWnCvpEpR-pVN7jCOfEIuNUrQhXWG6yKVsGSJHD_l4dRlPIZK_XKdzKUTyYV9d9Fk-4QhK1EFVFlnL3RL-PIP4C9fJXrNd6abu_ig2pw", "e": "AQAB", "kid": "enc-1", "kty": "RSA", "use": "enc"}]}
        """#
    /// Signed with the RSA key.
    static let rs256 =
        "eyJ0eXAiOiJKV1QiLCJhbGciOiJSUzI1NiIsImtpZCI6InJzYS0xIn0.eyJpc3MiOiJodHRwczovL2lzc3Vlci5leGFtcGxlIiwic3ViIjoidS0xIiwiYXVkIjoic2hvcCIsImlhdCI6MTc5OTk5OTk5MCwiZXhwIjoxODAwMDAwMzAwLCJlbWFpbCI6ImFkYUBleGFtcGxlLm9yZyIsIm5hbWUiOnsiZnVsbCI6IkFkYSJ9fQ.F41VtudLhsfWNaBZwA5nhSMDmX4nP8zDfLK0tzOkqf8tg8FwtvTuh5jUjnSHoWagcmFyhoNhzO0Mp6WvebL3eG9SlUPSrMnJxKcQrZgRKhLSmKt2RDfUeeLJNGUfxdR2YU-xEo9xzEbFZvwgOdZw0ZrIrKAG6d_lkMXCUVyf09IBM_FeyVukn5FcOIkxAE98IN8FdwmMb_CacjFaTpcNsSkT-uL-gVYANfy7za9c_cwtzeQdMZ7VPth6EbaxOv5f-A-vzV7mYsVuxvMqay8fM1iS4sMtZtjSQ_R5r298EvoXdSzHUdVOONcWaEaWSebFO4AzPCckjVe9kPHewzuX8Q"
    /// The same without `kid`.
    static let rs256WithoutKeyId =
        "eyJ0eXAiOiJKV1QiLCJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJodHRwczovL2lzc3Vlci5leGFtcGxlIiwic3ViIjoidS0xIiwiYXVkIjoic2hvcCIsImlhdCI6MTc5OTk5OTk5MCwiZXhwIjoxODAwMDAwMzAwLCJlbWFpbCI6ImFkYUBleGFtcGxlLm9yZyIsIm5hbWUiOnsiZnVsbCI6IkFkYSJ9fQ.RDFBXyuNsMMLqNbYMPWZSVs_2Gg8D89VlmDK8P6hOWYYxi5T9pCOC-N_kQwOVeba8daxXnCkSUu-hBZqTJ3bSIewGUCcli1N_XuZWu4KA5o2EVuaO39FONOqfBMev8ONQ1gerZBETB_G2m6Mie9k5Lz8WI5L9TSddHzFi0mDJ8ywXHTHiVOK0lplZRjW-9th0c0BmRTypa9SI71RGqUBd2EhleiShli-t9vsi6nMP5ahgh_CDsxxoDMYGD-jCtt9f8HMoKXDOB0pSgK7ePGHxL8V-FFe9KnaCsHw7SyLwlBSiqOJjD6UU-vA_h4OTvqfHok3dkdkJx5ShoM1053YGQ"
    /// Signed with the EC key.
    static let es256 =
        "eyJ0eXAiOiJKV1QiLCJhbGciOiJFUzI1NiIsImtpZCI6ImVjLTEifQ.eyJpc3MiOiJodHRwczovL2lzc3Vlci5leGFtcGxlIiwic3ViIjoidS0xIiwiYXVkIjoic2hvcCIsImlhdCI6MTc5OTk5OTk5MCwiZXhwIjoxODAwMDAwMzAwLCJlbWFpbCI6ImFkYUBleGFtcGxlLm9yZyIsIm5hbWUiOnsiZnVsbCI6IkFkYSJ9fQ.vtVpa_ihszRHdyb0b1P2MhpopQQncM0j-1zZUkfBdHo9KS61Z9fjmM4WAKyZygNYhxhuMm5ixwSn4FIAy8j8Wg"
    /// Signed with the secret.
    static let hs256 =
        "eyJ0eXAiOiJKV1QiLCJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJodHRwczovL2lzc3Vlci5leGFtcGxlIiwic3ViIjoidS0xIiwiYXVkIjoic2hvcCIsImlhdCI6MTc5OTk5OTk5MCwiZXhwIjoxODAwMDAwMzAwLCJlbWFpbCI6ImFkYUBleGFtcGxlLm9yZyIsIm5hbWUiOnsiZnVsbCI6IkFkYSJ9fQ.6-o78ujnZz7UxDnYgHoXuQYT51w_G0OwIYMkzmvXXpE"
    /// The RSA key, another digest.
    static let rs384 =
        "eyJ0eXAiOiJKV1QiLCJhbGciOiJSUzM4NCIsImtpZCI6InJzYS0xIn0.eyJpc3MiOiJodHRwczovL2lzc3Vlci5leGFtcGxlIiwic3ViIjoidS0xIiwiYXVkIjoic2hvcCIsImlhdCI6MTc5OTk5OTk5MCwiZXhwIjoxODAwMDAwMzAwLCJlbWFpbCI6ImFkYUBleGFtcGxlLm9yZyIsIm5hbWUiOnsiZnVsbCI6IkFkYSJ9fQ.eMLwbi9eej5Zobe8FWRxXhUgX9JCys5mIUJR5_sIzDWJkKcCEa2nWcnosaSZntwPzvyHm-6UXIZHgT-r7GWR6OjwpxxKI4YYueKe8ftnViMWkRsz_z1D0QiAST5SvFNoxBCZkAEaaOd_Www30cmGH7q-uQpLyN3YjMtDbKOyeZNyLyYp4a3eRvlaI0WVcBQrUa4bUJhsaaIgyK0uX1NmMSji9ssXc8-PLm6rWMD15w_9eRWtYJk1oyo2Gur5FyemwayFliz3X54jPHVXKY1MUQvo2iOtuqWdAjLRIMr90oQVVZXmgctTzeG6p8IVvAsZ5WjiIN8F8fMMIXOOcNBa3A"
    /// Signed with HS256, the secret being the public key's PEM.
    static let confused =
        "eyJhbGciOiAiSFMyNTYiLCAia2lkIjogInJzYS0xIn0.eyJpc3MiOiAiaHR0cHM6Ly9pc3N1ZXIuZXhhbXBsZSIsICJzdWIiOiAidS0xIiwgImF1ZCI6ICJzaG9wIiwgImlhdCI6IDE3OTk5OTk5OTAsICJleHAiOiAxODAwMDAwMzAwLCAiZW1haWwiOiAiYWRhQGV4YW1wbGUub3JnIiwgIm5hbWUiOiB7ImZ1bGwiOiAiQWRhIn19.ZtfbF0ys-uu5wrMuEqqdGPBtF8Pr9cemYWM0tXbA1vg"
    /// Signed with the symmetric key of the set.
    static let published =
        "eyJ0eXAiOiJKV1QiLCJhbGciOiJIUzI1NiIsImtpZCI6Im9jdC0xIn0.eyJpc3MiOiJodHRwczovL2lzc3Vlci5leGFtcGxlIiwic3ViIjoidS0xIiwiYXVkIjoic2hvcCIsImlhdCI6MTc5OTk5OTk5MCwiZXhwIjoxODAwMDAwMzAwLCJlbWFpbCI6ImFkYUBleGFtcGxlLm9yZyIsIm5hbWUiOnsiZnVsbCI6IkFkYSJ9fQ.6fkocZvVvBPPq7qxr4R-F8M0pmDwUx9vbYayP6NIat8"
    /// Not signed at all.
    static let unsigned =
        "eyJhbGciOiAibm9uZSIsICJraWQiOiAicnNhLTEifQ.eyJpc3MiOiAiaHR0cHM6Ly9pc3N1ZXIuZXhhbXBsZSIsICJzdWIiOiAidS0xIiwgImF1ZCI6ICJzaG9wIiwgImlhdCI6IDE3OTk5OTk5OTAsICJleHAiOiAxODAwMDAwMzAwLCAiZW1haWwiOiAiYWRhQGV4YW1wbGUub3JnIiwgIm5hbWUiOiB7ImZ1bGwiOiAiQWRhIn19."
    /// Expired at `now`.
    static let expired =
        "eyJ0eXAiOiJKV1QiLCJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJodHRwczovL2lzc3Vlci5leGFtcGxlIiwic3ViIjoidS0xIiwiYXVkIjoic2hvcCIsImlhdCI6MTc5OTk5OTk5MCwiZXhwIjoxODAwMDAwMDAwLCJlbWFpbCI6ImFkYUBleGFtcGxlLm9yZyIsIm5hbWUiOnsiZnVsbCI6IkFkYSJ9fQ.PAtkyGok6JoLLKcXuKzG6YMyJi_FUBXaBT6BqSZiEQw"
    /// Not valid for another 61 seconds.
    static let early =
        "eyJ0eXAiOiJKV1QiLCJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJodHRwczovL2lzc3Vlci5leGFtcGxlIiwic3ViIjoidS0xIiwiYXVkIjoic2hvcCIsImlhdCI6MTc5OTk5OTk5MCwiZXhwIjoxODAwMDAwMzAwLCJlbWFpbCI6ImFkYUBleGFtcGxlLm9yZyIsIm5hbWUiOnsiZnVsbCI6IkFkYSJ9LCJuYmYiOjE4MDAwMDAwNjF9.-ixWrhZjbsh6vVMlcGNdzRJaWpVCHKwwmjgyG1wUxww"
    /// From the future.
    static let issuedLater =
        "eyJ0eXAiOiJKV1QiLCJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJodHRwczovL2lzc3Vlci5leGFtcGxlIiwic3ViIjoidS0xIiwiYXVkIjoic2hvcCIsImlhdCI6MTgwMDAwMDA2MSwiZXhwIjoxODAwMDAwMzAwLCJlbWFpbCI6ImFkYUBleGFtcGxlLm9yZyIsIm5hbWUiOnsiZnVsbCI6IkFkYSJ9fQ.47eoJfvoInXBaawQSpjdi1Baur2isWMaueoruIJDJ50"
    /// Without `exp`.
    static let endless =
        "eyJ0eXAiOiJKV1QiLCJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJodHRwczovL2lzc3Vlci5leGFtcGxlIiwic3ViIjoidS0xIiwiYXVkIjoic2hvcCIsImlhdCI6MTc5OTk5OTk5MCwiZW1haWwiOiJhZGFAZXhhbXBsZS5vcmciLCJuYW1lIjp7ImZ1bGwiOiJBZGEifX0.lV1LJjE1leE5Kk4fcEzlSqlq053hOn0AbgxO2tJSPdo"
    /// Without `sub`.
    static let nobody =
        "eyJ0eXAiOiJKV1QiLCJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJodHRwczovL2lzc3Vlci5leGFtcGxlIiwiYXVkIjoic2hvcCIsImlhdCI6MTc5OTk5OTk5MCwiZXhwIjoxODAwMDAwMzAwLCJlbWFpbCI6ImFkYUBleGFtcGxlLm9yZyIsIm5hbWUiOnsiZnVsbCI6IkFkYSJ9fQ.643VusE9O_oxIszLpHZxGPQJKDVs7fkyeO0u6ozIKdg"
    /// `sub` is a number.
    static let numbered =
        "eyJ0eXAiOiJKV1QiLCJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJodHRwczovL2lzc3Vlci5leGFtcGxlIiwic3ViIjo1LCJhdWQiOiJzaG9wIiwiaWF0IjoxNzk5OTk5OTkwLCJleHAiOjE4MDAwMDAzMDAsImVtYWlsIjoiYWRhQGV4YW1wbGUub3JnIiwibmFtZSI6eyJmdWxsIjoiQWRhIn19.nJWFGoYDhscBFzl2l2Nx53-BXgref0bFW4AyhQIdObw"
    /// For another audience.
    static let forOther =
        "eyJ0eXAiOiJKV1QiLCJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJodHRwczovL2lzc3Vlci5leGFtcGxlIiwic3ViIjoidS0xIiwiYXVkIjoib3RoZXIiLCJpYXQiOjE3OTk5OTk5OTAsImV4cCI6MTgwMDAwMDMwMCwiZW1haWwiOiJhZGFAZXhhbXBsZS5vcmciLCJuYW1lIjp7ImZ1bGwiOiJBZGEifX0.M34Wsbs6W5nV9wh6zE3OvejfTCfp7BH8wI4VJ8MaaLQ"
    /// Without `aud`.
    static let forNobody =
        "eyJ0eXAiOiJKV1QiLCJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJodHRwczovL2lzc3Vlci5leGFtcGxlIiwic3ViIjoidS0xIiwiaWF0IjoxNzk5OTk5OTkwLCJleHAiOjE4MDAwMDAzMDAsImVtYWlsIjoiYWRhQGV4YW1wbGUub3JnIiwibmFtZSI6eyJmdWxsIjoiQWRhIn19.RmWaE-myks9-VP9sQF5OJVO_Qm91gLYwK8iGkWM_-Hk"
    /// For two audiences.
    static let forBoth =
        "eyJ0eXAiOiJKV1QiLCJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJodHRwczovL2lzc3Vlci5leGFtcGxlIiwic3ViIjoidS0xIiwiYXVkIjpbInNob3AiLCJzdG9jayJdLCJpYXQiOjE3OTk5OTk5OTAsImV4cCI6MTgwMDAwMDMwMCwiZW1haWwiOiJhZGFAZXhhbXBsZS5vcmciLCJuYW1lIjp7ImZ1bGwiOiJBZGEifX0.HuVkFYzD1AuVxKmSgIFzNl0BRhmyDUxrGEIDi2OQFG8"
    /// `exp` has a fraction.
    static let fractional =
        "eyJ0eXAiOiJKV1QiLCJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJodHRwczovL2lzc3Vlci5leGFtcGxlIiwic3ViIjoidS0xIiwiYXVkIjoic2hvcCIsImlhdCI6MTc5OTk5OTk5MCwiZXhwIjoxODAwMDAwMDAwLjUsImVtYWlsIjoiYWRhQGV4YW1wbGUub3JnIiwibmFtZSI6eyJmdWxsIjoiQWRhIn19.Bv3VCVgO-_gEiGugVyHHB_Zjvpehg_NCDZpaTbVG_8I"
}
