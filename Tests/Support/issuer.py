"""An issuer of ID tokens for tests, and the parts of Facebook's Graph API that auth calls: issuer.py PORT.

It signs with PyJWT, so that another implementation makes what ours checks. The script prints READY when it listens.
GET  /.well-known/openid-configuration, /jwks.json, /authorize (answers at once, as if the user had signed in)
POST /token (exchanges a code, and checks the client, the redirect and PKCE)
GET  /debug_token, /me, POST /oauth/access_token: Facebook's
POST /sign {"alg", "claims", "kid"?}: a token with any claims; POST /facebook {"token", "app", "id", …}: makes an access token
POST /settings {"nameless"?, "single"?, "issuer"?, "away"?, "secretInHeader"?}; POST /rotate; GET /stats
"""

import base64
import hashlib
import hmac
import json
import secrets
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, unquote, urlencode, urlparse

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

CLIENT = "client-of-the-tests"
SECRET = "secret of the client"


class Issuer:
    def __init__(self, port):
        self.url = f"http://127.0.0.1:{port}"
        self.generation = 0
        self.codes = {}
        self.facebook = {}
        self.settings = {}
        self.hits = {"keys": 0, "metadata": 0, "token": 0}
        self.rotate()

    def rotate(self):
        self.generation += 1
        private = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.keys = {
            "RS256": (private, RSAAlgorithm),
            "PS256": (private, RSAAlgorithm),
            "ES256": (ec.generate_private_key(ec.SECP256R1()), ECAlgorithm),
            "EdDSA": (ed25519.Ed25519PrivateKey.generate(), OKPAlgorithm),
        }

    def key_id(self, alg):
        return f"{alg}-{self.generation}"

    def jwks(self):
        entries = []
        for alg, (key, algorithm) in self.keys.items():
            if self.settings.get("single", alg) != alg:
                continue
            if algorithm is ECAlgorithm:
                entry = ec_jwk(key.public_key())
            else:
                entry = json.loads(algorithm.to_jwk(key.public_key()))
            entry.pop("key_ops", None)
            entry["use"] = "sig"
            if not self.settings.get("nameless"):
                entry["kid"] = self.key_id(alg)
            if alg in ("RS256", "PS256"):
                entry["alg"] = alg
            entries.append(entry)
        return {"keys": entries}

    def sign(self, claims, alg="RS256", kid=None):
        headers = {} if self.settings.get("nameless") else {"kid": kid or self.key_id(alg)}
        return jwt.encode(claims, self.keys[alg][0], algorithm=alg, headers=headers)

    def claims(self, more):
        now = int(time.time())
        return {"iss": self.url, "sub": "u-1", "aud": CLIENT, "iat": now, "exp": now + 300, **more}


def ec_jwk(key):
    numbers = key.public_numbers()
    text = lambda n: base64.urlsafe_b64encode(n.to_bytes(32, "big")).rstrip(b"=").decode()
    return {"kty": "EC", "crv": "P-256", "x": text(numbers.x), "y": text(numbers.y)}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, document, status=200, headers={}):
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        place = urlparse(self.path)
        query = dict(parse_qsl(place.query))
        if issuer.settings.get("away") and place.path != "/stats":
            return self.answer({}, 503)
        if place.path == "/.well-known/openid-configuration":
            issuer.hits["metadata"] += 1
            methods = ["client_secret_basic"] if issuer.settings.get("secretInHeader") else ["client_secret_post"]
            return self.answer(
                {
                    "issuer": issuer.settings.get("issuer", issuer.url),
                    "authorization_endpoint": issuer.url + "/authorize",
                    "token_endpoint": issuer.url + "/token",
                    "jwks_uri": issuer.url + "/jwks.json",
                    "token_endpoint_auth_methods_supported": methods,
                }
            )
        if place.path == "/jwks.json":
            issuer.hits["keys"] += 1
            return self.answer(issuer.jwks(), headers={"Cache-Control": "max-age=60"})
        if place.path == "/authorize":
            code = secrets.token_urlsafe(16)
            issuer.codes[code] = query
            location = query["redirect_uri"] + "?" + urlencode({"code": code, "state": query["state"]})
            return self.answer({}, 302, {"Location": location})
        if place.path == "/debug_token":
            if query.get("access_token") != f"{CLIENT}|{SECRET}":
                return self.answer({"error": {"message": "not the app"}}, 400)
            known = issuer.facebook.get(query.get("input_token"))
            if known is None:
                return self.answer({"data": {"is_valid": False}})
            return self.answer(
                {"data": {"is_valid": True, "app_id": known.get("app", CLIENT), "user_id": known["id"]}}
            )
        if place.path == "/me":
            token = query.get("access_token", "")
            known = issuer.facebook.get(token)
            proof = hmac.new(SECRET.encode(), token.encode(), hashlib.sha256).hexdigest()
            if known is None or query.get("appsecret_proof") != proof:
                return self.answer({"error": {"message": "no proof"}}, 400)
            fields = query["fields"].split(",")
            return self.answer({name: value for name, value in known.items() if name in fields})
        if place.path == "/stats":
            return self.answer(issuer.hits)
        self.answer({}, 404)

    def do_POST(self):
        text = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        path = urlparse(self.path).path
        if path == "/token":
            return self.exchange(dict(parse_qsl(text, keep_blank_values=True)))
        if path == "/oauth/access_token":
            form = dict(parse_qsl(text))
            if not self.is_client(form) or form.get("code") not in issuer.codes:
                return self.answer({"error": {"message": "no such code"}}, 400)
            if not is_verifier(issuer.codes.pop(form["code"]), form):
                return self.answer({"error": {"message": "not the verifier"}}, 400)
            return self.answer({"access_token": "token-of-the-dialog"})
        body = json.loads(text or "{}")
        if path == "/sign":
            return self.answer(
                {"token": issuer.sign(issuer.claims(body.get("claims", {})), body.get("alg", "RS256"), body.get("kid"))}
            )
        if path == "/code":
            code = secrets.token_urlsafe(16)
            issuer.codes[code] = {"client_id": CLIENT, "redirect_uri": "", "claims": body}
            return self.answer({"code": code})
        if path == "/facebook":
            issuer.facebook[body.pop("token")] = body
            return self.answer({})
        if path == "/settings":
            issuer.settings = body
            return self.answer({})
        if path == "/rotate":
            issuer.rotate()
            return self.answer({})
        self.answer({}, 404)

    def is_client(self, form):
        if not issuer.settings.get("secretInHeader"):
            return (form.get("client_id"), form.get("client_secret")) == (CLIENT, SECRET)
        header = self.headers.get("Authorization", "")
        if not header.startswith("Basic "):
            return False
        name, secret = base64.b64decode(header[6:]).decode().split(":")
        return (unquote(name), unquote(secret)) == (CLIENT, SECRET)

    def exchange(self, form):
        issuer.hits["token"] += 1
        asked = issuer.codes.pop(form.get("code"), None)
        if not self.is_client(form):
            return self.answer({"error": "invalid_client"}, 401)
        if asked is None or form.get("redirect_uri") != asked["redirect_uri"] or not is_verifier(asked, form):
            return self.answer({"error": "invalid_grant"}, 400)
        claims = {"sub": "u-of-a-code", "email": "code@example.org", **asked.get("claims", {})}
        if "nonce" in asked:
            claims["nonce"] = issuer.settings.get("nonce", asked["nonce"])
        self.answer({"id_token": issuer.sign(issuer.claims(claims)), "token_type": "Bearer", "access_token": "x"})


def is_verifier(asked, form):
    if "code_challenge" not in asked:
        return "code_verifier" not in form
    digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
    challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
    return asked["code_challenge_method"] == "S256" and asked["code_challenge"] == challenge


issuer = Issuer(int(sys.argv[1]))
server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
print("READY", flush=True)
server.serve_forever()
