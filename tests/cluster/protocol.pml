/* The protocol by which workers share a crawl (ADR 25), for spin.

   Two machines run three lives of workers in all, the first of them two (with -DLIVES=2: one each). Two partitions hold
   three URLs: 0 is a seed, 1 is linked from it and in the other partition, 2 is added from outside while the crawl runs. A
   life may end at any step, its lease may run out at any step, and it may be declared dead at any step after that. A client
   may not hear what became of its commit. The session of a transaction outlives its client: what becomes of it is then
   decided later.

   Checked: no URL is stored twice; when a worker contacts a host, no other worker that has a lease takes itself for the
   owner of the partition; a finished crawl has stored every URL that was added to it.

   With a part missing it must fail: -DNO_FENCE, -DNO_COUNT, -DNO_LEASE, -DTWO_READS, -DONE_STATEMENT. */

#ifndef LIVES
#define LIVES 3
#endif
#define URLS 3
#define PARTS 2
#define FREE 255
#define PART(u) ((u) % 2)

mtype = { none, open, committing };      /* a transaction, as the server sees it */
mtype = { take, visit, intake, end };    /* what it does */

/* Tables. */
bool alive[LIVES];
bool ahead[LIVES];                       /* the table counts a commit more than the client */
byte owner[PARTS] = FREE;
bool known[URLS];
bool queued[URLS];
bool inbox[URLS];
byte stored[URLS];
bool finished;

/* Transactions. One for each life at most holds the row of its fence. */
mtype transaction[LIVES] = none;
mtype kind[LIVES];
byte what[LIVES];
bool own_link[LIVES];                    /* visit: the link leads into a partition of the same worker */
bool is_over[LIVES];                     /* end: nothing was left */
bool got[LIVES];                         /* its result: the partition was taken, the URL or the link was new */
bool gone[LIVES];                        /* the client is gone */
bool shared;                             /* the lock of the crawl, while URLs are added from outside */
bool ending;                             /* the same, while its end is decided */
bool holds_end[LIVES];

/* Memories of workers. */
bool lease[LIVES];
bool owns[6];                            /* of life l and partition p: l * PARTS + p */
bool todo[9];                            /* of life l and URL u: l * URLS + u */

bool added;

#define LEFT (queued[0] || queued[1] || queued[2] || inbox[0] || inbox[1] || inbox[2])
#define QUEUED (queued[0] || queued[1] || queued[2])
#define INBOX (inbox[0] || inbox[1] || inbox[2])
#define RIVAL(k, p) (k != l && lease[k] && owns[k * PARTS + p])

inline close(l) {
    if :: holds_end[l] -> ending = false; holds_end[l] = false :: else fi;
    is_over[l] = false;
    own_link[l] = false;
    kind[l] = 0;
    what[l] = 0;
    gone[l] = false;
    transaction[l] = none
}

inline apply(l) {
    ahead[l] = true;
    got[l] = false;
    if
    :: kind[l] == take -> if :: owner[what[l]] == FREE -> owner[what[l]] = l; got[l] = true :: else fi
    :: kind[l] == visit ->
        queued[what[l]] = false;
        stored[what[l]]++;
        assert(stored[what[l]] == 1);
        if
        :: what[l] == 0 && own_link[l] && !known[1] -> known[1] = true; queued[1] = true; got[l] = true
        :: what[l] == 0 && !own_link[l] -> inbox[1] = true
        :: else
        fi
    :: kind[l] == intake ->
        inbox[what[l]] = false;
        if :: !known[what[l]] -> known[what[l]] = true; queued[what[l]] = true; got[l] = true :: else fi
    :: kind[l] == end ->
        finished = true;
        assert(stored[0] == 1 && stored[1] == 1 && (stored[2] == 1 || !added))
    fi;
    close(l)
}

/* Of one life: what the server does with its transaction, and how it is declared dead. */
active [LIVES] proctype server() {
    byte l = _pid;   /* the first processes */
    byte p;
    do
    :: atomic { transaction[l] == committing -> if :: apply(l) :: close(l) fi }
    :: atomic { transaction[l] == open && gone[l] -> close(l) }
    :: atomic { lease[l] -> lease[l] = false }
    :: atomic { alive[l] && !lease[l] && transaction[l] == none ->
        alive[l] = false;
        p = 0;
        do
        :: p < PARTS -> if :: owner[p] == l -> owner[p] = FREE :: else fi; p++
        :: else -> break
        od;
        p = 0 }
    od
}

/* URLs from outside. */
active proctype adder() {
    atomic { !ending -> shared = true };
    if
    :: atomic { finished -> shared = false }
    :: atomic { !finished -> skip };
        if
        :: atomic { inbox[2] = true; added = true; shared = false }
        :: atomic { shared = false }     /* its connection was lost */
        fi
    fi
}

/* One transaction of life l, as often as its answer is lost. Jumps to `over` when the life has ended. */
inline execute(k, w) {
    kind_now = k;
    what_now = w;
    do
    :: atomic { transaction[l] == none ->
        if
#ifdef NO_FENCE
        :: !ahead[l] ->
#else
#ifdef NO_COUNT
        :: alive[l] ->
#else
        :: alive[l] && !ahead[l] ->
#endif
#endif
            kind[l] = kind_now;
            what[l] = what_now;
            own_link[l] = owns[l * PARTS + 1];
            transaction[l] = open
        :: ahead[l] -> ahead[l] = false; break
        :: else -> goto over
        fi };
        if
        :: kind_now == end -> decide()
        :: else
        fi;
        if
        :: atomic { kind_now == end && !is_over[l] -> close(l); break }
        :: atomic { kind_now != end || is_over[l] ->
            if
            :: apply(l); ahead[l] = false; break                 /* made, and answered */
            :: apply(l)                                          /* made, and the answer was lost */
            :: close(l)                                          /* not made */
            :: transaction[l] = committing; goto over            /* killed before anything was decided */
            fi }
        :: atomic { goto over }                                  /* killed inside the transaction */
        fi
    od
}

inline decide() {
#ifdef ONE_STATEMENT
    atomic { is_over[l] = !LEFT };
    atomic { !shared && !ending -> ending = true; holds_end[l] = true }
#else
    atomic { !shared && !ending -> ending = true; holds_end[l] = true };
#ifdef TWO_READS
    atomic { is_over[l] = !QUEUED };
    atomic { is_over[l] = is_over[l] && !INBOX }
#else
    atomic { is_over[l] = !LEFT }
#endif
#endif
}

inline load() {
    atomic {
        if
        :: got[l] ->
            owns[l * PARTS + p] = true;
            u = 0;
            do
            :: u < URLS -> if :: PART(u) == p -> todo[l * URLS + u] = queued[u] :: else fi; u++
            :: else -> break
            od;
            u = 0
        :: else
        fi;
        got[l] = false; p = 0; kind_now = 0; what_now = 0
    }
}

inline contact() {
#ifndef NO_LEASE
    if
    :: atomic { !lease[l] -> goto over }
    :: atomic { lease[l] ->
#else
    if
    :: atomic {
#endif
#if LIVES == 3
        assert(!RIVAL(2, PART(u)));
#endif
        assert(!RIVAL(0, PART(u)) && !RIVAL(1, PART(u))) }
    fi;
    execute(visit, u);
    atomic {
        todo[l * URLS + u] = false;
        if :: u == 0 && got[l] -> todo[l * URLS + 1] = true :: else fi;
        got[l] = false; u = 0; kind_now = 0; what_now = 0
    }
}

inline enter() {
    atomic {
        if :: got[l] -> todo[l * URLS + u] = true :: else fi;
        got[l] = false; u = 0; kind_now = 0; what_now = 0
    }
}

active [2] proctype machine() {
    byte l, p, u, last = FREE;
    mtype kind_now;
    byte what_now;
another:
    atomic {
        if
        :: last == FREE -> l = _pid - LIVES - 1
        :: last == 0 && LIVES == 3 -> l = 2
        :: last == 1 || last + 1 == LIVES -> goto stop
        fi;
        if :: !known[0] -> known[0] = true; queued[0] = true :: else fi      /* the seed */
    };
    /* Join. What the last life on this machine owned passes to this one. */
    atomic {
        last == FREE || transaction[last] == none ->
        alive[l] = true;
        lease[l] = true;
        if
        :: last != FREE && alive[last] ->
            alive[last] = false;
            do
            :: p < PARTS ->
                if :: owner[p] == last -> owner[p] = l; owns[l * PARTS + p] = true :: else fi;
                p++
            :: else -> break
            od;
            p = 0
        :: else
        fi;
        last = l
    };
    atomic {
        do
        :: u < URLS -> todo[l * URLS + u] = owns[l * PARTS + PART(u)] && queued[u]; u++
        :: else -> break
        od;
        u = 0
    };
    do
    :: atomic { finished -> break }
    :: atomic { !owns[l * PARTS] && owner[0] == FREE -> p = 0 }; execute(take, p); load()
    :: atomic { !owns[l * PARTS + 1] && owner[1] == FREE -> p = 1 }; execute(take, p); load()
    :: atomic { todo[l * URLS] -> u = 0 }; contact()
    :: atomic { todo[l * URLS + 1] -> u = 1 }; contact()
    :: atomic { todo[l * URLS + 2] -> u = 2 }; contact()
    :: atomic { owns[l * PARTS + 1] && inbox[1] -> u = 1 }; execute(intake, u); enter()
    :: atomic { owns[l * PARTS] && inbox[2] -> u = 2 }; execute(intake, u); enter()
    :: atomic { !todo[l * URLS] && !todo[l * URLS + 1] && !todo[l * URLS + 2] && !finished -> u = 0 }; execute(end, u); atomic { kind_now = 0 }
    :: atomic { owns[l * PARTS] || owns[l * PARTS + 1] -> goto over }
    od;
over:
    atomic {
        gone[l] = transaction[l] != none;
        got[l] = false;
        lease[l] = false;
        p = 0; u = 0; kind_now = 0; what_now = 0;
        owns[l * PARTS] = false; owns[l * PARTS + 1] = false;
        todo[l * URLS] = false; todo[l * URLS + 1] = false; todo[l * URLS + 2] = false
    };
    if
    :: !finished -> goto another
    :: finished -> skip
    fi;
stop:
    skip
}
