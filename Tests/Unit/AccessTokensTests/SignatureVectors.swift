// Created once with joserfc 1.6 and cryptography, so that another implementation has signed what ours verifies.

enum SignatureVectors {
    /// The keys, none of which names an algorithm.
    static let jwks = #"""
        {"keys": [{"n": "mAgXn8zj1oa3NqQeHEiYFb6yGQKkKsh6qGImBGAH7NQa5z9WP_sBTb0XU_4kNHuuMbyisUZIjvfeZl1De38iLgkq65uqjmcihaXJUm57oHnkORqHw-qJKTHJMHQbHv3Q5HaZx4060uxDdtOu2yitiBxYTSkcs2zpqVnJ7uctAaZUpC9D5ShzFGIqJTOFznhkZXddkDo5_ioMyhoasTOmX9GWV8kD6KII2zxdiILeGIO50qxXrt90aG9NFHEfa9TzorI0_whAGzf9ku3SR6wCaF7-aEEGSsaczfPX-mgwQExcrurbMxTTSXHO91lBdR-JujSZO-2EypugAJ4Z0Wpkpw", "e": "AQAB", "kid": "rsa", "kty": "RSA"}, {"crv": "P-256", "x": "8zrW2uaMZ6AVAVTC1fCIJMAH7vpd0roe6QjAz96AJXo", "y": "n-Wb13uCSwAtPh-G-KEvXMqX-cIKunw2HVTwEttEpeo", "kid": "p256", "kty": "EC"}, {"crv": "P-384", "x": "oR3OyzabKbBb1B4cYj1o2_T7EEQ77VRJYJRqWtE4ATa7iTF0v9wTIDUIydNu35wf", "y": "YNJa6qAJVh7fZF9M_5M8CbEiWdbxzAiUPr475U8nD58YY0X9HsgG_LlwZpFaSH8J", "kid": "p384", "kty": "EC"}, {"crv": "P-521", "x": "AZ4fE9pf0aqfVwSFJEmBG_EaF99qkCTW-ZCzjUXJ_tZoTQ5TgrYrLNp4jECAEaUQFjYiuyl02XNqXkXTpvHqdoQm", "y": "Ae5fTFe9X-rAsf54YYJyFMYyHdd1uf0ZbcOleQFT9uXbjHvaaMab9nKThEZC3yi_9WQs0Z24Ot_MT6EupDQ_Ypo1", "kid": "p521", "kty": "EC"}, {"crv": "Ed25519", "x": "bctyTNoywgqd-v1mIf7abGqUAzNsNP0YIdpy2ClAGVg", "kid": "ed25519", "kty": "OKP"}, {"crv": "Ed448", "x": "1Yp1Lx4NSDE7zK0s5gh5mzSCwhSTjvkwJ4Coy_Y4MZFOp2fKv9DC-XvNbOLz52M7n8aadcziBTiA", "kid": "ed448", "kty": "OKP"}]}
        """#
    /// One token of each algorithm with a public key, and for EdDSA one of each curve: `iss` is `https://issuer.example`, `sub` is `u-1`,
    /// `aud` is `shop`.
    static let tokens: [(algorithm: String, token: String)] = [
        (
            "RS256",
            "eyJ0eXAiOiJKV1QiLCJhbGciOiJSUzI1NiIsImtpZCI6InJzYSJ9.eyJpc3MiOiJodHRwczovL2lzc3Vlci5leGFtcGxlIiwic3ViIjoidS0xIiwiYXVkIjoic2hvcCIsImlhdCI6MTc5OTk5OTk5MCwiZXhwIjoxODAwMDAwMzAwfQ.bmaQo4EXnLwJKWzEDm6XpkbzadPguL1fbs4SOv215vnCSELbjtSv1kKXL1a8Pbxlm-2ZU4aZRqapJSBbnLYEz-UcuIY_PTOsqhJmMg8gWJRbxJwOCG5e-CAP69G9OTnt0k9fFcupQav0U_kzr7BkvDKEkOoOibcaZPM-izlIsKOeMk48KD-2CJmrFAJWdp_c3V-xhnMNu1v7uAZ-W_Kkda4GgayB6MeAXBQgOZ1PiZaLyPn4rWiu4c3WLVjzmhjTGBe2WuaX_a1I_aa5XBrAYkkKjmXeL9f7JMMt7wG1w_-ZaG5A0P6QjTVK2aG_0yWL_vxE6dXm4sh-9w0uJvsfXQ"
        ),
        (
            "RS384",
            "eyJ0eXAiOiJKV1QiLCJhbGciOiJSUzM4NCIsImtpZCI6InJzYSJ9.eyJpc3MiOiJodHRwczovL2lzc3Vlci5leGFtcGxlIiwic3ViIjoidS0xIiwiYXVkIjoic2hvcCIsImlhdCI6MTc5OTk5OTk5MCwiZXhwIjoxODAwMDAwMzAwfQ.dJ-T6CTYgkEALem2LEJcO_qclcSMB3-YI81VIwZ70mpT228zI_N2qS88cQhoDnqsyTQmjV754sFOu3aouRDL2adiNndorx_iHr3tfC_O_76QEurqGhQwKbj7AvPsEPsfqolUhvBuw1SvaWCUUEDryJ8v25O7fZJ0AkaLu4sXsPo2XBsF6PNF_HoIocFSpMCTEvOMl3sVJ2mDuxDqA1CufAXGJQXwv--jV1e_HfbklDj8ZsXXBcd6AzEEKCsvKFaDI_9mpK9Aj_MVJs3Wta5WtZIyDJfI2VjFo6wxrdLpKUGQ4Irw0qNgd0E3kwV6CTmn-hNNcW976_jIhD_sHP3aqw"
        ),
        (
            "RS512",
            "eyJ0eXAiOiJKV1QiLCJhbGciOiJSUzUxMiIsImtpZCI6InJzYSJ9.eyJpc3MiOiJodHRwczovL2lzc3Vlci5leGFtcGxlIiwic3ViIjoidS0xIiwiYXVkIjoic2hvcCIsImlhdCI6MTc5OTk5OTk5MCwiZXhwIjoxODAwMDAwMzAwfQ.P7t1SAHiKh8j-fs8LizX-u3D4q7D8oOWWe0DDcY30sF8Lv255GwVm3jlg-Tn35PDdYoon4U9GwessxBAn8dK3m7YJOSqHYwOoXujzN5j16J1CazJfBrggjvulE_P3a47RzZRc-vMyVVuBnINmcZ4G8g4sYf3E1rfNqS_JFP4WahJ5UO2fa4hAKCphCiqoZPGI6troKFZwjsggmudWPtRPOEFALTt6zMS8JsAQm_N52gq_SE9Z45Tp3zBYhZ1Dv2NzBFYQ7ANMJBqxj2kHGbQBTLpkOMpX0neN7bcc4wGiPSg2roB0st49ujJ5FZu7gXAxpfimGcxROtJC_JEXSiIIg"
        ),
        (
            "PS256",
            "eyJ0eXAiOiJKV1QiLCJhbGciOiJQUzI1NiIsImtpZCI6InJzYSJ9.eyJpc3MiOiJodHRwczovL2lzc3Vlci5leGFtcGxlIiwic3ViIjoidS0xIiwiYXVkIjoic2hvcCIsImlhdCI6MTc5OTk5OTk5MCwiZXhwIjoxODAwMDAwMzAwfQ.Ysq6tYIIEJZhPDt71s5M7VfwzwbYy5ZV9Hk78cXyTqhWHRVGDU1vXuUgeMO44sLYLHYtuaKr99K3boE6UK5Dq1rM8pEms3I1TH2FMhC6smyMK42YmLuFJAsxPbTrMfgPzc1C1KhV2w0EYyOFH5posrjmYoW8X7nxTP8yRSi-hRL0VP9r1SuoS7TbAPY7ZZ7zzGSTLTf4fRg3MQ0cENn2KldZ9OiTdSJR1SafiTjndDkQ0NGhxepiaruwiLnBEX5z9LORQkbsOtLZB9tzFQFAk1E43U-FHAS_pcApPUWS1YjdimtVeXCCd4a-MoG2Jxr-UUeVv81x5HRXwE20mL4P9Q"
        ),
        (
            "PS384",
            "eyJ0eXAiOiJKV1QiLCJhbGciOiJQUzM4NCIsImtpZCI6InJzYSJ9.eyJpc3MiOiJodHRwczovL2lzc3Vlci5leGFtcGxlIiwic3ViIjoidS0xIiwiYXVkIjoic2hvcCIsImlhdCI6MTc5OTk5OTk5MCwiZXhwIjoxODAwMDAwMzAwfQ.e4TW5W-mtwbmz7gZx7Bxp1iMKvrkEMdloItTS4yCvUsOZ_AWHdjs6_YKCelyKhGvAiRPx68pEO7DqEPLv8-9wjpoMXaCi6fss4GeitNmO_Hb6lYNh-RENojCfctWWMZDySExOLMpPOzIoyPhFHDTGP-CKixdOxlAPM5o7I8wp4zQKJQ1kjtbJghqqtHySU1wbHTC4HlZqyxSBDz8ArBiYxqWEgxFrxMYliMB_EYFYf1-REibGUC7WJHUHO-0IjWQhemRXsiz8bMu-Ae8Saykn0e7Z9pZu6hUxHfU4MzMWpax7aIpId3P2O7Bq81NakkVbV2-J13PsC6oI7PwZi6t0w"
        ),
        (
            "PS512",
            "eyJ0eXAiOiJKV1QiLCJhbGciOiJQUzUxMiIsImtpZCI6InJzYSJ9.eyJpc3MiOiJodHRwczovL2lzc3Vlci5leGFtcGxlIiwic3ViIjoidS0xIiwiYXVkIjoic2hvcCIsImlhdCI6MTc5OTk5OTk5MCwiZXhwIjoxODAwMDAwMzAwfQ.WeZ4EAvKkh49GqRnSMlvgu8EIiTYQStKjrhwwF4G3FQzDaYrXvNC8Zd0VqNnSN46kXaQo8Oq682o5600wGsj9kXlKb7G9P9hgLSISphkgtxUyOVaEoRSvBH00psUn4VOA_XZbm5XHGzoOLIb5hl8QN9k7qtzfoqi4lXP6qAgH-m-m-VRfSre5dkuTF7FNxQAI-WOD20LiS9Fn8lCDAx3-rC_S6xdeCgQJEqmN77vNgnrwNQxJpvkkcQ2lGId3lv4f0KgN7s7ZgDB7YJoP5QCBFS3LBy-6_CkmoUH1R0OFM9QCkDaXWmsQO5CTQKCwYYk3tpe1gKs-SH98_r6y-_oHQ"
        ),
        (
            "ES256",
            "eyJ0eXAiOiJKV1QiLCJhbGciOiJFUzI1NiIsImtpZCI6InAyNTYifQ.eyJpc3MiOiJodHRwczovL2lzc3Vlci5leGFtcGxlIiwic3ViIjoidS0xIiwiYXVkIjoic2hvcCIsImlhdCI6MTc5OTk5OTk5MCwiZXhwIjoxODAwMDAwMzAwfQ.GBX1xVSV9q_5pH438E_cFlBksRiPOpQMJyH2SNlRYszS0uPLQkzxarrn1BwaHAKWSpTFxNzj_6X8dNCnXNkyUw"
        ),
        (
            "ES384",
            "eyJ0eXAiOiJKV1QiLCJhbGciOiJFUzM4NCIsImtpZCI6InAzODQifQ.eyJpc3MiOiJodHRwczovL2lzc3Vlci5leGFtcGxlIiwic3ViIjoidS0xIiwiYXVkIjoic2hvcCIsImlhdCI6MTc5OTk5OTk5MCwiZXhwIjoxODAwMDAwMzAwfQ.4pSrf1wJVqDxAS800Uxc2kxMHDCHUu8S0ft_MoZUTlrd39OnW4b0qf62RkHpzDRaFVABtpM0CRbCxAiIyk48hvSilZuqlPy58KLw73aXaICa5NRERuJsaAtIMbwSktNb"
        ),
        (
            "ES512",
            "eyJ0eXAiOiJKV1QiLCJhbGciOiJFUzUxMiIsImtpZCI6InA1MjEifQ.eyJpc3MiOiJodHRwczovL2lzc3Vlci5leGFtcGxlIiwic3ViIjoidS0xIiwiYXVkIjoic2hvcCIsImlhdCI6MTc5OTk5OTk5MCwiZXhwIjoxODAwMDAwMzAwfQ.AB3fAHGsQITbsI-b1tw-YWvQQyGCLqIyU57q37_whqYEh2QIn8H9BFe30_-CdZBHnbNW56YxncZyfm8SELM8b-OIAOvkavvrjWjv586wPmR1xx7w9A0_Y8F6I-dbiicPUg8eBk-ja7XvLU_8RlTMEQFWnYnGnWtGpkGPpg-elHtnXpvD"
        ),
        (
            "EdDSA",
            "eyJ0eXAiOiJKV1QiLCJhbGciOiJFZERTQSIsImtpZCI6ImVkMjU1MTkifQ.eyJpc3MiOiJodHRwczovL2lzc3Vlci5leGFtcGxlIiwic3ViIjoidS0xIiwiYXVkIjoic2hvcCIsImlhdCI6MTc5OTk5OTk5MCwiZXhwIjoxODAwMDAwMzAwfQ.-sNNN8JT_o1IhWydfHrSOBM8MyHY0OFDZAeP_3X1mbUWO7Biv_-_hSG7Vq13FUxwA8yV322IbFzsRHsc2qqcBw"
        ),
        (
            "EdDSA",
            "eyJ0eXAiOiJKV1QiLCJhbGciOiJFZERTQSIsImtpZCI6ImVkNDQ4In0.eyJpc3MiOiJodHRwczovL2lzc3Vlci5leGFtcGxlIiwic3ViIjoidS0xIiwiYXVkIjoic2hvcCIsImlhdCI6MTc5OTk5OTk5MCwiZXhwIjoxODAwMDAwMzAwfQ.MnOte1Aqn_2NBh2Jfrib0kIPl2HmdcJZo7gOkbBQ-Oh9YM2u0cX0ID_NOhvSLUH5Uu6DZMcCvsSAC2qrVNkxEHtKxviWBmjEQvt8dzAGXxVgNj7irL94Datb3tBgMRr39-LlykTm65fs9SH977vUBxQA"
        ),
    ]
    /// ES256 with the key `p256`, which it doesn't name.
    static let withoutKeyId =
        "eyJ0eXAiOiJKV1QiLCJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJodHRwczovL2lzc3Vlci5leGFtcGxlIiwic3ViIjoidS0xIiwiYXVkIjoic2hvcCIsImlhdCI6MTc5OTk5OTk5MCwiZXhwIjoxODAwMDAwMzAwfQ.nsPIsqsTjbUjw5UurRG1ALxwQCZptWDtbKMFSpBWd8huRHsnK73wY-fKP4iWDIsQJDzGEkoA8d5KDFQb6YlLfQ"
    /// Some of the keys in PEM, by their algorithm.
    static let pems: [(algorithm: String, pem: String)] = [
        (
            "PS384",
            """
            -----BEGIN PUBLIC KEY-----
            MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAmAgXn8zj1oa3NqQeHEiY
            Fb6yGQKkKsh6qGImBGAH7NQa5z9WP/sBTb0XU/4kNHuuMbyisUZIjvfeZl1De38i
            Lgkq65uqjmcihaXJUm57oHnkORqHw+qJKTHJMHQbHv3Q5HaZx4060uxDdtOu2yit
            iBxYTSkcs2zpqVnJ7uctAaZUpC9D5ShzFGIqJTOFznhkZXddkDo5/ioMyhoasTOm
            X9GWV8kD6KII2zxdiILeGIO50qxXrt90aG9NFHEfa9TzorI0/whAGzf9ku3SR6wC
            aF7+aEEGSsaczfPX+mgwQExcrurbMxTTSXHO91lBdR+JujSZO+2EypugAJ4Z0Wpk
            pwIDAQAB
            -----END PUBLIC KEY-----
            """
        ),
        (
            "ES384",
            """
            -----BEGIN PUBLIC KEY-----
            MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAEoR3OyzabKbBb1B4cYj1o2/T7EEQ77VRJ
            YJRqWtE4ATa7iTF0v9wTIDUIydNu35wfYNJa6qAJVh7fZF9M/5M8CbEiWdbxzAiU
            Pr475U8nD58YY0X9HsgG/LlwZpFaSH8J
            -----END PUBLIC KEY-----
            """
        ),
        (
            "EdDSA",
            """
            -----BEGIN PUBLIC KEY-----
            MCowBQYDK2VwAyEAbctyTNoywgqd+v1mIf7abGqUAzNsNP0YIdpy2ClAGVg=
            -----END PUBLIC KEY-----
            """
        ),
    ]
}
