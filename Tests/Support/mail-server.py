#!/usr/bin/python3
"""A mail server for tests, on 127.0.0.1. Each mail becomes DIRECTORY/mails/NUMBER.json, decoded by Python's own parser.

mail-server.py DIRECTORY PORT USER PASSWORD [CERTIFICATE KEY]: with a certificate, TLS from the first byte.

Nobody sends without signing in. Recipients that begin with `bounce` are refused for good, with `busy` for now, and those that
begin with `silent` get no answer. DIRECTORY/ready is there once it listens. It runs until it is killed.
"""

import asyncio
import email
import email.policy
import itertools
import json
import os
import ssl
import sys

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult, LoginPassword


class Mailbox:
    def __init__(self, directory):
        self.directory = directory
        self.numbers = itertools.count(1)

    async def handle_RCPT(self, server, session, envelope, address, options):
        if address.startswith("bounce"):
            return "550 5.1.1 nobody has this address"
        if address.startswith("busy"):
            return "451 4.7.1 try again later"
        if address.startswith("silent"):
            await asyncio.sleep(3600)
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        message = email.message_from_bytes(envelope.content, policy=email.policy.default)
        number = next(self.numbers)
        part = os.path.join(self.directory, f".{number}.part")
        with open(part, "w", encoding="utf-8") as file:
            json.dump(
                {
                    "from": envelope.mail_from,
                    "to": envelope.rcpt_tos,
                    "subject": message["subject"],
                    "text": message.get_content(),
                    "defects": [str(defect) for defect in message.defects],
                },
                file,
            )
        os.rename(part, os.path.join(self.directory, f"{number}.json"))
        return "250 taken"


def authenticator(user, password):
    def check(server, session, envelope, mechanism, data):
        is_right = isinstance(data, LoginPassword) and (data.login, data.password) == (user.encode(), password.encode())
        return AuthResult(success=is_right, handled=False)

    return check


def main():
    directory, port, user, password, *certificate = sys.argv[1:]
    tls = None
    if certificate:
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        tls.load_cert_chain(*certificate)
    mails = os.path.join(directory, "mails")
    os.makedirs(mails, exist_ok=True)
    controller = Controller(
        Mailbox(mails),
        hostname="127.0.0.1",
        port=int(port),
        authenticator=authenticator(user, password),
        auth_require_tls=False,
        auth_required=True,
        enable_SMTPUTF8=True,
        ssl_context=tls,
    )
    controller.start()
    open(os.path.join(directory, "ready"), "w").close()
    asyncio.new_event_loop().run_forever()


main()
