/* Spin: the one-shot collective whose data is its own flag. Each rank pushes its
   part into a mailbox of every peer, spins until no part in its own mailbox is
   the sentinel, and in the same launch puts the sentinel back into the mailbox
   of an earlier launch. BUFFERS mailboxes take turns. A part is two words, which
   arrive one by one. There is no barrier: how far ranks may drift apart is what
   the number of buffers answers.

   Shown with three buffers: each rank reads parts of its launch only, and nobody
   is stuck. Faults that must be found: BUFFERS=2, NO_SENTINEL, ONE_WORD. */
#ifndef RANKS
#define RANKS 2
#endif
#ifndef LAUNCHES
#define LAUNCHES 5
#endif
#ifndef BUFFERS
#define BUFFERS 3
#endif
#define WORDS 2
#define SENTINEL 0
#define BOX(owner, buffer, from, word) \
  boxes[((((owner) * BUFFERS) + (buffer)) * RANKS + (from)) * WORDS + (word)]

byte boxes[RANKS * BUFFERS * RANKS * WORDS]; /* 0 is the sentinel */

/* Stores are not ordered among one another: words in either order. */
inline push(owner, buffer) {
  if
  :: BOX(owner, buffer, rank, 0) = launch; BOX(owner, buffer, rank, 1) = launch
  :: BOX(owner, buffer, rank, 1) = launch; BOX(owner, buffer, rank, 0) = launch
  fi
}

proctype Rank(byte rank) {
  byte launch = 1;
  byte peer;
  do
  :: launch > LAUNCHES -> break
  :: else ->
     peer = 0;
     do
     :: peer == RANKS -> break
     :: else ->
        push(peer, launch % BUFFERS);
#ifndef NO_SENTINEL
        /* The mailbox of the launch before: all its parts have been read, and
           no peer pushes to it before this rank's part of this launch. */
        BOX(rank, (launch + BUFFERS - 1) % BUFFERS, peer, 0) = SENTINEL;
        BOX(rank, (launch + BUFFERS - 1) % BUFFERS, peer, 1) = SENTINEL;
#endif
        peer++
     od;
     peer = 0;
     do
     :: peer == RANKS -> break
     :: else ->
        BOX(rank, launch % BUFFERS, peer, 1) != SENTINEL;
#ifndef ONE_WORD
        BOX(rank, launch % BUFFERS, peer, 0) != SENTINEL;
#endif
        assert(BOX(rank, launch % BUFFERS, peer, 0) == launch);
        assert(BOX(rank, launch % BUFFERS, peer, 1) == launch);
        peer++
     od;
     launch++
  od
}

init {
  byte rank = 0;
  atomic {
    do
    :: rank == RANKS -> break
    :: else -> run Rank(rank); rank++
    od
  }
}
