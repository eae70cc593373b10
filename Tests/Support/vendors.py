"""What functions call as AWS and Twilio, for tests: vendors.py PORT.

It checks signatures (AWS Signature Version 4) and names and passwords by Python's own hmac and urllib, so that another implementation
checks what ours makes. The script prints READY when it listens.
POST / (SES' form, or JSON with X-Amz-Target), POST /2015-03-31/functions/NAME/invocations: AWS'
POST /2010-04-01/Accounts/AC…/Messages.json: Twilio's
GET  /requests: what was accepted, as JSON
GET, POST /redirect?status=STATUS&to=URL: a redirect
"""

import base64
import hashlib
import hmac
import json
import sys
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, quote, unquote, urlsplit

KEY, SECRET = "AKIATEST", "test+secret/key"
ACCOUNT, TOKEN = "ACtest", "token of the tests"
TARGETS = {"AmazonSQS": "sqs", "Kinesis_20131202": "kinesis"}
accepted = []


def digest(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


class Vendors(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body, kind="application/json"):
        body = body if isinstance(body, bytes) else body.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("x-amzn-RequestId", "request-1")
        self.end_headers()
        self.wfile.write(body)

    def redirects(self):
        parts = urlsplit(self.path)
        if parts.path != "/redirect":
            return False
        query = dict(parse_qsl(parts.query))
        self.send_response(int(query["status"]))
        self.send_header("Location", query["to"])
        self.send_header("Content-Length", "0")
        self.end_headers()
        return True

    def do_GET(self):
        if not self.redirects():
            self.answer(200, json.dumps(accepted))

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.redirects():
            return
        path = urlsplit(self.path).path
        if path.startswith("/2010-04-01/"):
            return self.twilio(path, body)
        form = dict(parse_qsl(body.decode(), keep_blank_values=True)) if "form" in self.headers.get("Content-Type", "") else {}
        target, _, action = self.headers.get("X-Amz-Target", "").rpartition(".")
        service = "lambda" if "/functions/" in path else TARGETS.get(target, "ses" if form else "unknown")
        wrong = self.wrong_signature(service, body)
        if wrong:
            text = f"<ErrorResponse><Error><Type>Sender</Type><Code>SignatureDoesNotMatch</Code><Message>{wrong}</Message></Error><RequestId>r-1</RequestId></ErrorResponse>"
            return self.answer(403, text, "text/xml") if form else self.answer(403, json.dumps({"__type": "com.amazon.coral.service#SignatureDoesNotMatch", "message": wrong}))
        accepted.append({"service": service, "path": path, "form": form, "target": self.headers.get("X-Amz-Target"), "body": body.decode(),
                         "invocation": self.headers.get("X-Amz-Invocation-Type")})
        if service == "ses":
            if form.get("Source") == "nobody@example.org":
                return self.answer(400, "<ErrorResponse><Error><Type>Sender</Type><Code>MessageRejected</Code><Message>Email address is not verified &amp; so on.</Message></Error></ErrorResponse>", "text/xml")
            return self.answer(200, f'<?xml version="1.0"?>\n<{form["Action"]}Response xmlns="http://ses.amazonaws.com/doc/2010-12-01/"><{form["Action"]}Result><MessageId>m-1 &lt;a&gt;</MessageId></{form["Action"]}Result><ResponseMetadata><RequestId>r-1</RequestId></ResponseMetadata></{form["Action"]}Response>', "text/xml")
        if service == "lambda":
            return self.answer(200, b'{"echo": ' + body + b"}")
        if service == "sqs" and action == "GetQueueUrl":
            return self.answer(400, json.dumps({"__type": "com.amazonaws.sqs#QueueDoesNotExist", "message": "The specified queue does not exist."}))
        if service == "kinesis" and action == "GetRecords":
            return self.answer(200, json.dumps({"Records": [{"Data": base64.b64encode(b"a record").decode(), "SequenceNumber": "1"}], "MillisBehindLatest": 0}))
        self.answer(200, json.dumps({"MessageId": "m-2", "SequenceNumber": "1"}))

    def wrong_signature(self, service, body):
        """What is wrong with the request's signature; empty when nothing is."""
        scheme, _, rest = self.headers.get("Authorization", "").partition(" ")
        fields = dict(part.strip().split("=", 1) for part in rest.split(",")) if rest else {}
        if scheme != "AWS4-HMAC-SHA256" or len(fields) != 3:
            return "no signature"
        key, day, region, signed_service, end = fields["Credential"].split("/")
        moment = self.headers.get("X-Amz-Date", "")
        age = abs((datetime.now(timezone.utc) - datetime.strptime(moment, "%Y%m%dT%H%M%SZ").replace(tzinfo=timezone.utc)).total_seconds())
        if (key, signed_service, end) != (KEY, service, "aws4_request") or day != moment[:8] or age > 900:
            return f"the scope {fields['Credential']} isn't that of {service}"
        names = fields["SignedHeaders"].split(";")
        if "host" not in names or any(name.startswith("x-amz-") and name not in names for name in map(str.lower, self.headers)):
            return "a header isn't signed"
        parts = urlsplit(self.path)
        query = "&".join(sorted(f"{quote(unquote(n), safe='-_.~')}={quote(unquote(v), safe='-_.~')}" for n, _, v in (pair.partition("=") for pair in parts.query.split("&") if pair)))
        canonical = "\n".join([
            self.command, quote(parts.path, safe="/-_.~"), query,
            "".join(f"{name}:{' '.join(self.headers[name].split())}\n" for name in names), ";".join(names), hashlib.sha256(body).hexdigest()])
        scope = f"{day}/{region}/{service}/aws4_request"
        text = "\n".join(["AWS4-HMAC-SHA256", moment, scope, hashlib.sha256(canonical.encode()).hexdigest()])
        signing = ("AWS4" + SECRET).encode()
        for part in (day, region, service, "aws4_request"):
            signing = digest(signing, part)
        return "" if hmac.compare_digest(digest(signing, text).hex(), fields["Signature"]) else "the signature is another one"

    def twilio(self, path, body):
        given = self.headers.get("Authorization", "")
        if given != "Basic " + base64.b64encode(f"{ACCOUNT}:{TOKEN}".encode()).decode():
            return self.answer(401, json.dumps({"code": 20003, "message": "Authenticate", "status": 401}))
        form = dict(parse_qsl(body.decode(), strict_parsing=True))
        if path != f"/2010-04-01/Accounts/{ACCOUNT}/Messages.json" or self.headers.get("Content-Type") != "application/x-www-form-urlencoded":
            return self.answer(404, json.dumps({"code": 20404, "message": "Not found", "status": 404}))
        if not form.get("To", "").replace("whatsapp:", "").startswith("+"):
            return self.answer(400, json.dumps({"code": 21211, "message": f"Invalid 'To' Phone Number: {form.get('To')}", "status": 400}))
        accepted.append({"service": "twilio", "form": form})
        self.answer(201, json.dumps({"sid": "SM1", "status": "queued"}))


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Vendors)
    print("READY", flush=True)
    server.serve_forever()
