/// What Partita is compared with: the same work in plain C.
#ifndef PARTITA_REFERENCES_H
#define PARTITA_REFERENCES_H

#endif
