#include "clock.h"
#include "references.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <string.h>

static bool succeeded(PGresult *result) {
    ExecStatusType status = PQresultStatus(result);
    PQclear(result);
    return status == PGRES_COMMAND_OK;
}

// Reads the answers up to the end of one transaction.
static bool take_transaction(PGconn *postgres) {
    for (;;) {
        PGresult *result = PQgetResult(postgres);
        if (!result) {
            if (PQstatus(postgres) != CONNECTION_OK) return false;
            continue;  // the end of one statement's results
        }
        ExecStatusType status = PQresultStatus(result);
        PQclear(result);
        if (status == PGRES_PIPELINE_SYNC) return true;
        if (status != PGRES_COMMAND_OK) return false;
    }
}

static bool send_write(PGconn *postgres, long number, const char *id_format, const char *body, const char *plain) {
    char id[128], revision[32];
    snprintf(id, sizeof id, id_format, number);
    snprintf(revision, sizeof revision, "%ld", number);
    const char *document[4] = {id, revision, body, plain}, *change[3] = {id, revision, body};
    return PQsendQueryPrepared(postgres, "document", 4, document, NULL, NULL, 0) == 1
        && PQsendQueryPrepared(postgres, "change", 3, change, NULL, NULL, 0) == 1;
}

double reference_pipelined_inserts(
    const char *url, const char *document_sql, const char *change_sql, const char *id_format, const char *body,
    const char *plain, long first, long count, long per_transaction) {
    PGconn *postgres = PQconnectdb(url);
    double seconds = -1;
    if (PQstatus(postgres) == CONNECTION_OK && succeeded(PQprepare(postgres, "document", document_sql, 4, NULL))
        && succeeded(PQprepare(postgres, "change", change_sql, 3, NULL)) && PQenterPipelineMode(postgres) == 1) {
        double begin = now();
        long unread = 0;
        bool is_good = true;
        for (long done = 0; done < count && is_good; done++) {
            is_good = send_write(postgres, first + done, id_format, body, plain);
            if (!is_good || ((done + 1) % per_transaction != 0 && done + 1 != count)) continue;
            is_good = PQpipelineSync(postgres) == 1;
            // One transaction is sent while another one is committed.
            if (is_good && ++unread > 1) {
                is_good = take_transaction(postgres);
                unread--;
            }
        }
        while (is_good && unread-- > 0) is_good = take_transaction(postgres);
        if (is_good) seconds = now() - begin;
    }
    PQfinish(postgres);
    return seconds;
}
